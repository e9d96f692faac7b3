import type { JsonObject } from "../../src/json.ts";
import { listen, type Listening } from "./listen.ts";

/** An HTTP API that `REST_DOCUMENT` describes. */
export function startRestUpstream(): Promise<Listening> {
  return listen(async ({ url = "/" }, response) => {
    const { pathname, searchParams } = new URL(url, "http://127.0.0.1");
    // The other operation never answers.
    if (pathname !== "/echo") return;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ echo: searchParams.get("text") }));
  });
}

const TEXT = { name: "text", in: "query", required: true, schema: { type: "string" } };
const JSON_ANSWER = {
  "200": { description: "The text.", content: { "application/json": { schema: { type: "object" } } } },
};

export const REST_DOCUMENT: JsonObject = {
  openapi: "3.1.0",
  info: { title: "An HTTP API", version: "1.0.0" },
  paths: {
    "/echo": { get: { operationId: "echo", summary: "Returns the text.", parameters: [TEXT], responses: JSON_ANSWER } },
    "/wait": { get: { operationId: "wait", summary: "Never answers.", responses: JSON_ANSWER } },
  },
};
