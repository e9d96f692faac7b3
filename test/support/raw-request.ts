import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { JsonValue } from "../../src/json.ts";

/** A request that is sent without normalization or additional headers. */
export interface RawRequest {
  readonly method: string;
  /** The request target, unchanged. */
  readonly path: string;
  /** Alternating names and values, so that a name can repeat. */
  readonly headers?: readonly string[];
  readonly body?: string | Uint8Array | undefined;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  /** The body as JSON; null if it is not JSON. */
  readonly json: JsonValue;
}

/** Sends a request over HTTP/1.1 on a new connection. */
export async function sendRawRequest(url: string, raw: RawRequest): Promise<RawAnswer> {
  const { hostname, port, host } = new URL(url);
  const body = raw.body === undefined ? undefined : Buffer.from(raw.body);
  const headers = [
    "host",
    host,
    ...(raw.headers ?? []),
    ...(body === undefined ? [] : ["content-length", String(body.byteLength)]),
  ];
  const sent = request({ hostname, port, method: raw.method, path: raw.path, headers, agent: false });
  // The server may respond and close before it has read everything.
  sent.on("error", () => undefined);
  sent.end(body);
  const [response] = (await Promise.race([once(sent, "response"), failure(sent)])) as [IncomingMessage];
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(response, "close");
  const text = Buffer.concat(chunks).toString("utf8");
  return { status: response.statusCode ?? 0, headers: response.headers, text, json: parse(text) };
}

async function failure(sent: ReturnType<typeof request>): Promise<never> {
  const [error] = (await once(sent, "error")) as [Error];
  throw error;
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return null;
  }
}
