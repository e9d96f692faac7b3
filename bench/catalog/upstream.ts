import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";

// An upstream that returns short JSON on every path, and typical failures on some.
const BODY = JSON.stringify({ id: "7", displayName: "Ada", jobTitle: "Engineer" });
const { DOCUMENT_FILE } = process.env;
const document = DOCUMENT_FILE === undefined ? "{}" : readFileSync(DOCUMENT_FILE, "utf8");

const JSON_TYPE = { "content-type": "application/json" };

function drip(response: ServerResponse): void {
  response.writeHead(200, JSON_TYPE);
  const timer = setInterval(() => response.write(" "), 1_000);
  response.on("close", () => clearInterval(timer));
}

function flood(response: ServerResponse): void {
  response.writeHead(200, { ...JSON_TYPE, "content-length": String(5 * 1024 ** 3) });
  const block = Buffer.alloc(64 * 1024, 0x20);
  const pour = (): void => {
    while (!response.destroyed && response.write(block));
  };
  response.on("drain", pour);
  pour();
}

const WAYS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  "/broken/hangs": () => undefined,
  "/broken/drips": drip,
  "/broken/floods": flood,
  "/broken/resets": (response) => response.socket?.resetAndDestroy(),
  "/openapi.json": (response) => response.writeHead(200, JSON_TYPE).end(document),
};

const server = createServer((request, response) => {
  response.on("error", () => undefined);
  const way = WAYS[request.url?.split("?", 1)[0] ?? ""];
  if (way !== undefined) way(response);
  else response.writeHead(200, { ...JSON_TYPE, "content-length": String(BODY.length) }).end(BODY);
});
server.listen(Number(process.env["PORT"]), "127.0.0.1", () => console.log("upstream listening"));
