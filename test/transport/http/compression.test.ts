import { once } from "node:events";
import { connect as connectH2 } from "node:http2";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mayCompress } from "../../../src/transport/http/compression.ts";
import { acceptedCodings } from "../../../src/transport/http/accept-encoding.ts";
import { OPERATIONS } from "../../support/clients.ts";
import { sendRaw } from "../support/raw.ts";
import { startStandIn, type Running } from "../support/stand-in.ts";

const AUTH = "Bearer mgmt.read,mgmt.write";
const LARGE = "/api/v1/mcp-servers?limit=500";
const SMALL = "/api/v1/mcp-servers?limit=1";

let server: Running;
beforeAll(async () => {
  server = await startStandIn({ corsOrigins: ["https://app.example"] });
});
afterAll(async () => {
  await server.stop();
});

/** Returns the response as it is on the wire; `fetch` would decompress the body. */
async function ask(path: string, headers: Readonly<Record<string, string>> = {}, method = "GET") {
  const lines = Object.entries({ host: "a", connection: "close", authorization: AUTH, ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const raw = await sendRaw(server.port, `${method} ${path} HTTP/1.1\r\n${head}\r\n`);
  const end = raw.indexOf("\r\n\r\n");
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "im").exec(raw.slice(0, end))?.[1]?.trim();
  return { field, bytes: Buffer.byteLength(raw.slice(end + 4), "latin1") };
}

describe("compression of REST responses", () => {
  test.each<[string, string | undefined, string]>([
    ["large and the client accepts gzip", "gzip", LARGE],
    ["large and the client accepts gzip among others", "br, deflate;q=0.5, gzip;q=0.2", LARGE],
    ["large and the client accepts any encoding", "*", LARGE],
    ["small but the client accepts only gzip and rejects identity", "gzip, identity;q=0", SMALL],
    ["small but the client accepts only gzip and rejects *", "gzip, *;q=0", SMALL],
  ])("compresses a response that is %s", async (_, accept, path) => {
    const headers = accept === undefined ? {} : { "accept-encoding": accept };
    const plain = await fetch(server.url + path, { headers: { authorization: AUTH, "accept-encoding": "identity" } });
    const packed = await fetch(server.url + path, { headers: { authorization: AUTH, ...headers } });
    expect([packed.headers.get("content-encoding"), packed.headers.get("vary")]).toEqual([
      "gzip",
      "Origin, Accept-Encoding",
    ]);
    expect(await packed.text()).toBe(await plain.text());
    expect(packed.headers.get("etag")).toBe(plain.headers.get("etag"));
  });

  test.each<[string, string | undefined, string]>([
    ["large without an Accept-Encoding header", undefined, LARGE],
    ["large while the client rejects gzip", "gzip;q=0, br", LARGE],
    ["large while the client accepts only identity", "*;q=0, identity", LARGE],
    ["small", "gzip", SMALL],
  ])("does not compress a response that is %s", async (_, accept, path) => {
    const answer = await ask(path, accept === undefined ? {} : { "accept-encoding": accept });
    expect(answer.field("content-encoding")).toBeUndefined();
    expect(answer.field("content-length")).toBe(String(answer.bytes));
    expect(answer.field("vary")).toBe(path === LARGE ? "Origin, Accept-Encoding" : "Origin");
  });

  test("HEAD returns the Content-Length of the compressed response", async () => {
    const headers = { "accept-encoding": "gzip" };
    const [head, get] = [await ask(LARGE, headers, "HEAD"), await ask(LARGE, headers)];
    expect([head.bytes, head.field("content-encoding")]).toEqual([0, "gzip"]);
    expect(head.field("content-length")).toBe(get.field("content-length"));
  });

  test("sends a single Vary header over HTTP/2", async () => {
    const session = connectH2(server.url);
    const stream = session.request({
      ":path": LARGE,
      authorization: AUTH,
      "accept-encoding": "gzip",
      origin: "https://app.example",
    });
    const [headers] = await once(stream, "response");
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    session.close();
    expect(headers).toMatchObject({ vary: "Origin, Accept-Encoding", "content-encoding": "gzip" });
    expect(gunzipSync(Buffer.concat(chunks)).toString()).toMatch(/^\{"success":true/);
  });

  test("never compresses event streams", async () => {
    const headers = { authorization: AUTH, "accept-encoding": "gzip, identity;q=0" };
    const answer = await fetch(`${server.url}/api/v1/mcp-servers/1/events`, { headers });
    expect(answer.headers.get("content-encoding")).toBeNull();
    expect(await answer.text()).toMatch(/^event: snapshot\n/);
  });
});

test("never compresses responses that contain a secret, in any protocol", () => {
  const never = [...OPERATIONS.values()].filter(({ output }) => !mayCompress(output)).map(({ name }) => name);
  expect(never.toSorted()).toEqual([
    "AuthorizeConnection",
    "CreateAccount",
    "CreateConnection",
    "CreateOAuthClient",
    "CreatePersonalAccessToken",
    "CreateWebhook",
    "RotateOAuthClientSecret",
    "RotatePersonalAccessToken",
    "RotateWebhookSecret",
  ]);
});

test.each<[string | undefined, boolean, boolean]>([
  [undefined, false, true],
  ["", false, true],
  ["gzip", true, true],
  ["GZIP;Q=1.0", true, true],
  ["x-gzip", true, true],
  ["gzip ; q=0.001", true, true],
  ["gzip;q=0.000", false, true],
  ["*", true, true],
  ["*;q=0", false, false],
  ["*;q=0, gzip", true, false],
  ["*;q=0, identity;q=0.1", false, true],
  ["identity;q=0, gzip;q=0", false, false],
  ["gzip;q=much", false, true],
  ["gzip;level=9", true, true],
])("Accept-Encoding %j allows gzip: %j, and identity: %j", (header, gzip, identity) => {
  expect(acceptedCodings(header)).toEqual({ gzip, identity });
});

describe("gzip bombs", () => {
  /** A gigabyte of spaces that compresses to a megabyte; gzip allows several members in one body. */
  const bomb = Buffer.concat(Array.from({ length: 900 }, () => gzipSync(Buffer.alloc(1024 * 1024, 0x20))));
  const BOMBS = 12;
  const MAX_GROWTH_KIB = 200 * 1024;
  const CREATE = "/patchbay.v1.ConnectionService/CreateConnection";

  async function growth(work: () => Promise<void>): Promise<number> {
    const before = process.resourceUsage().maxRSS;
    await Promise.all(Array.from({ length: BOMBS }, work));
    return process.resourceUsage().maxRSS - before;
  }

  test.each([
    ["REST", "/api/v1/mcp-servers", "application/json", 413, "REQUEST_TOO_LARGE"],
    ["Connect JSON", CREATE, "application/json", 429, "resource_exhausted"],
    ["Connect binary", CREATE, "application/proto", 429, "resource_exhausted"],
  ])("rejects a gzip bomb without using memory over %s", async (_, path, type, status, code) => {
    const headers = { authorization: AUTH, "content-type": type, "content-encoding": "gzip" };
    const grown = await growth(async () => {
      const answer = await fetch(server.url + path, { method: "POST", headers, body: bomb });
      expect([answer.status, await answer.json()]).toEqual([status, expect.objectContaining({ code })]);
    });
    expect(grown).toBeLessThan(MAX_GROWTH_KIB);
  });

  test.each([
    ["gRPC", "application/grpc"],
    ["gRPC-Web", "application/grpc-web+proto"],
  ])("rejects a gzip bomb without using memory over %s", async (_, type) => {
    const session = connectH2(server.url);
    const prefix = Buffer.alloc(5);
    prefix.writeUInt8(1, 0);
    prefix.writeUInt32BE(bomb.byteLength, 1);
    const grown = await growth(async () => {
      const stream = session.request({
        ":method": "POST",
        ":path": CREATE,
        "content-type": type,
        "grpc-encoding": "gzip",
        te: "trailers",
        authorization: AUTH,
      });
      stream.on("error", () => undefined);
      let trailers = "";
      stream.on("response", (headers) => (trailers += String(headers["grpc-status"] ?? "")));
      stream.on("trailers", (headers) => (trailers += String(headers["grpc-status"] ?? "")));
      stream.on(
        "data",
        (chunk: Buffer) => (trailers += /grpc-status: ?(\d+)/.exec(chunk.toString("latin1"))?.[1] ?? ""),
      );
      stream.end(Buffer.concat([prefix, bomb]));
      await once(stream, "close");
      expect(trailers).toBe("8");
    });
    session.close();
    expect(grown).toBeLessThan(MAX_GROWTH_KIB);
  });
});
