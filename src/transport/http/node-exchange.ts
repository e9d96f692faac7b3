import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { OAuthError } from "../oauth/oauth-error.ts";

/** A request on either version of HTTP. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;

/** A response on either version of HTTP. */
export type HttpResponse = ServerResponse | Http2ServerResponse;

/** Bytes of the largest form that the token endpoint reads. */
const MAX_FORM_BYTES = 16 * 1_024;

/** A header that may appear once. Node would take the first of several; here several are as good as none. */
export function singleHeader(request: HttpRequest, name: string): string | undefined {
  const times = request.rawHeaders.filter((word, at) => at % 2 === 0 && word.toLowerCase() === name).length;
  const value = request.headers[name];
  return times === 1 && typeof value === "string" ? value : undefined;
}

/** Reads a form of at most 16 KiB; more is a 413. */
export async function readForm(request: HttpRequest): Promise<string> {
  const tooLarge = new OAuthError(413, "invalid_request", `A token request has at most ${MAX_FORM_BYTES} bytes.`);
  if (Number(request.headers["content-length"] ?? 0) > MAX_FORM_BYTES) throw tooLarge;
  const chunks: Buffer[] = [];
  let received = 0;
  // Leaving the loop must not destroy the request: the answer still has to go out on its connection.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) throw new TypeError("the request's stream has an encoding");
    received += chunk.length;
    if (received > MAX_FORM_BYTES) throw tooLarge;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Answers with JSON, whatever the caller accepts. `HEAD` gets the headers alone. */
export function sendJson(
  response: HttpResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(body);
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader("content-type", "application/json; charset=utf-8");
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("content-length", Buffer.byteLength(text));
  if (response.req.method === "HEAD") response.end();
  else response.end(text);
}
