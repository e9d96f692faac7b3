import type { IncomingMessage, ServerResponse } from "node:http";
import type { WriteBatching } from "./write-batching.ts";
import {
  collectBody,
  EMPTY_BODY,
  bodyTooLarge,
  type HttpExchange,
  type HeaderFields,
  type Outlet,
} from "./exchange.ts";

/** Bytes of an unread body accepted after the response before the connection is closed. */
const MAX_DISCARDED_BYTES = 16 * 1024 * 1024;

const ORIGIN = /^https?:\/\/[^/?#]*/i;

export class H1Exchange implements HttpExchange {
  readonly httpVersion = "1.1";
  readonly method: string;
  readonly target: string;
  alwaysSend: HeaderFields | undefined;
  setCookies: readonly string[] | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #batching: WriteBatching;
  #awaitsContinue: boolean;
  #isAnswered = false;

  constructor(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean, batching: WriteBatching) {
    this.#request = request;
    this.#response = response;
    this.#batching = batching;
    this.#awaitsContinue = awaitsContinue;
    this.method = request.method ?? "";
    // A proxy may send the absolute form (RFC 9112 §3.2.2); only its path matters here.
    this.target = (request.url ?? "").replace(ORIGIN, "");
    response.on("error", ignore);
  }

  get headers(): IncomingMessage["headers"] {
    return this.#request.headers;
  }

  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders;
  }

  get peerAddress(): string {
    return this.#request.socket.remoteAddress ?? "";
  }

  get isEncrypted(): boolean {
    return "encrypted" in this.#request.socket;
  }

  get connection(): object {
    return this.#request.socket;
  }

  get hasBody(): boolean {
    const { headers } = this.#request;
    const length = headers["content-length"];
    return length === undefined ? headers["transfer-encoding"] !== undefined : length !== "0";
  }

  get isOpen(): boolean {
    return !this.#isAnswered && !this.#response.destroyed && !this.#response.writableEnded;
  }

  get hasAnswered(): boolean {
    return this.#response.headersSent;
  }

  readBody(maxBytes: number): Buffer | Promise<Buffer> {
    if (!this.hasBody) return EMPTY_BODY;
    if (Number(this.#request.headers["content-length"] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
    this.sendContinue();
    return collectBody(this.#request, maxBytes);
  }

  sendContinue(): void {
    if (!this.#awaitsContinue) return;
    this.#awaitsContinue = false;
    this.#response.writeContinue();
  }

  respond(status: number, headers: HeaderFields, body: string | Uint8Array): void {
    if (!this.isOpen) return;
    const length = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
    const fields = this.#flatten(headers);
    if (status !== 204 && status !== 304) fields.push("content-length", String(length));
    if (this.hasBody && !this.#request.complete) {
      if (this.#awaitsContinue) fields.push("connection", "close");
      else this.discardBody();
    }
    const response = this.#response;
    const content = this.method === "HEAD" ? "" : body;
    response.writeHead(status, fields);
    if (!this.hasBody || this.#request.complete || this.#awaitsContinue || response.shouldKeepAlive) {
      this.#isAnswered = true;
      this.#batching.send(response, content);
      return;
    }
    // The response requests `Connection: close`. Closing while the body still arrives would reset the connection, and
    // the caller might lose the response. Therefore the response is sent and the connection closes after the body.
    this.#isAnswered = true;
    response.flushHeaders();
    if (content.length > 0) response.write(content);
    this.#request.once("close", () => response.end());
    this.#request.once("end", () => response.end());
  }

  respondWithTrailers(): void {
    throw new Error("Complete responses with trailers need HTTP/2.");
  }

  open(status: number, headers: HeaderFields): Outlet {
    const response = this.#response;
    if (this.isOpen) {
      response.writeHead(status, this.#flatten(headers));
      response.flushHeaders();
    }
    return {
      write: async (chunk) => {
        if (!this.isOpen) return false;
        if (response.write(chunk)) return true;
        await new Promise<void>((resolve) => {
          const done = (): void => {
            response.off("drain", done).off("close", done);
            resolve();
          };
          response.on("drain", done).on("close", done);
        });
        return this.isOpen;
      },
      end: () => {
        if (this.isOpen) response.end();
      },
    };
  }

  onClose(listener: () => void): void {
    this.#response.once("close", listener);
  }

  keepOpen(): void {
    const { socket } = this.#request;
    if (this.isOpen && socket.timeout !== undefined) socket.setTimeout(socket.timeout);
  }

  discardBody(): void {
    const request = this.#request;
    if (request.complete) return;
    let discarded = 0;
    request.on("data", (chunk: Buffer) => {
      discarded += chunk.byteLength;
      if (discarded > MAX_DISCARDED_BYTES) request.socket.destroy();
    });
    request.resume();
  }

  destroy(): void {
    this.#request.socket.destroy();
  }

  toNode(): { readonly request: IncomingMessage; readonly response: ServerResponse } {
    if (this.alwaysSend !== undefined) {
      for (const [name, value] of Object.entries(this.alwaysSend)) this.#response.setHeader(name, value);
    }
    return { request: this.#request, response: this.#response };
  }

  #flatten(headers: HeaderFields): string[] {
    const fields: string[] = [];
    for (const name in headers) fields.push(name, headers[name] ?? "");
    if (this.alwaysSend !== undefined)
      for (const name in this.alwaysSend) fields.push(name, this.alwaysSend[name] ?? "");
    for (const cookie of this.setCookies ?? []) fields.push("set-cookie", cookie);
    return fields;
  }
}

function ignore(): void {
  // The close event reports that the caller disconnected; the error adds nothing.
}
