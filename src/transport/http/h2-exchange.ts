import type { IncomingMessage, ServerResponse } from "node:http";
import {
  constants,
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import {
  bodyTooLarge,
  collectBody,
  EMPTY_BODY,
  type HttpExchange,
  type HeaderFields,
  type Outlet,
} from "./exchange.ts";

/** Bytes of an unread body accepted after the response before the stream is closed. */
const MAX_DISCARDED_BYTES = 256 * 1024;
/** How long a stream may be silent after its response before it is closed, in milliseconds. */
const MAX_IDLE_MS = 5_000;

/** An exchange over one HTTP/2 stream. Node's compatibility objects are created only for handlers that need them. */
export class H2Exchange implements HttpExchange {
  readonly httpVersion = "2.0";
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly hasBody: boolean;
  alwaysSend: HeaderFields | undefined;
  setCookies: readonly string[] | undefined;
  readonly #stream: ServerHttp2Stream;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: readonly string[]) {
    this.#stream = stream;
    this.headers = headers;
    this.rawHeaders = rawHeaders;
    this.method = headers[":method"] ?? "";
    this.target = headers[":path"] ?? "";
    this.hasBody = (flags & constants.NGHTTP2_FLAG_END_STREAM) === 0;
    stream.on("error", ignore);
  }

  get peerAddress(): string {
    return this.#stream.session?.socket.remoteAddress ?? "";
  }

  get isEncrypted(): boolean {
    return this.#stream.session?.encrypted === true;
  }

  get connection(): object | undefined {
    return this.#stream.session;
  }

  get isOpen(): boolean {
    const stream = this.#stream;
    return !stream.destroyed && !stream.closed && !stream.writableEnded;
  }

  get hasAnswered(): boolean {
    return this.#stream.headersSent;
  }

  readBody(maxBytes: number): Buffer | Promise<Buffer> {
    if (!this.hasBody) return EMPTY_BODY;
    if (Number(this.headers["content-length"] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
    this.sendContinue();
    return collectBody(this.#stream, maxBytes);
  }

  sendContinue(): void {
    if (this.headers.expect !== "100-continue" || !this.isOpen || this.hasAnswered) return;
    this.#stream.additionalHeaders({ ":status": 100 });
  }

  respond(status: number, headers: HeaderFields, body: string | Uint8Array): void {
    if (!this.isOpen) return;
    const length = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
    const fields = this.#fields(status, headers);
    if (status !== 204 && status !== 304) fields["content-length"] = length;
    if (this.method === "HEAD" || length === 0) {
      this.#stream.respond(fields, { endStream: true });
    } else {
      this.#stream.respond(fields);
      this.#stream.end(body);
    }
    this.discardBody();
  }

  respondWithTrailers(headers: HeaderFields, body: Uint8Array | undefined, trailers: HeaderFields): void {
    const stream = this.#stream;
    if (!this.isOpen) return;
    if (body === undefined) {
      stream.respond({ ...this.#fields(200, headers), ...trailers }, { endStream: true });
      this.discardBody();
      return;
    }
    stream.respond(this.#fields(200, headers), { waitForTrailers: true });
    stream.once("wantTrailers", () => {
      stream.sendTrailers(trailers);
    });
    stream.end(body);
  }

  open(status: number, headers: HeaderFields): Outlet {
    const stream = this.#stream;
    if (this.isOpen) stream.respond(this.#fields(status, headers));
    return {
      write: async (chunk) => {
        if (!this.isOpen) return false;
        if (stream.write(chunk)) return true;
        await new Promise<void>((resolve) => {
          const done = (): void => {
            stream.off("drain", done).off("close", done);
            resolve();
          };
          stream.on("drain", done).on("close", done);
        });
        return this.isOpen;
      },
      end: () => {
        if (this.isOpen) stream.end();
      },
    };
  }

  onClose(listener: () => void): void {
    this.#stream.once("close", listener);
  }

  keepOpen(): void {
    const { session } = this.#stream;
    // Several streams of a session may request a ping; Node allows at most ten unanswered pings.
    if (this.isOpen && session !== undefined && !session.destroyed) session.ping(ignore);
  }

  /**
   * Discards the rest of the body up to a limit, then closes the stream without an error (RFC 9113 §8.1). Closing at
   * once could overtake the response, because nghttp2 drops headers of a stream that is being reset.
   */
  discardBody(): void {
    const stream = this.#stream;
    if (!this.hasBody || stream.readableEnded || stream.closed) return;
    let discarded = 0;
    stream.on("data", (chunk: Buffer) => {
      discarded += chunk.byteLength;
      if (discarded > MAX_DISCARDED_BYTES && !stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
    });
    stream.setTimeout(MAX_IDLE_MS, () => {
      if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
    });
  }

  destroy(): void {
    if (!this.#stream.destroyed) this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  toNode(): { readonly request: IncomingMessage; readonly response: ServerResponse } {
    const request = new Http2ServerRequest(this.#stream, this.headers, {}, this.rawHeaders);
    const response = new Http2ServerResponse(this.#stream);
    if (this.alwaysSend !== undefined) {
      for (const [name, value] of Object.entries(this.alwaysSend)) response.setHeader(name, value);
    }
    return asNodePair(request, response);
  }

  #fields(status: number, headers: HeaderFields): OutgoingHttpHeaders {
    const fields: OutgoingHttpHeaders = { ":status": status, ...headers, ...this.alwaysSend };
    if (this.setCookies !== undefined) fields["set-cookie"] = [...this.setCookies];
    return fields;
  }
}

/** Node documents that its HTTP/2 compatibility objects can replace the HTTP/1.1 ones; its types do not say so. */
function asNodePair(
  request: Http2ServerRequest,
  response: Http2ServerResponse,
): { readonly request: IncomingMessage; readonly response: ServerResponse } {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return { request, response } as unknown as { readonly request: IncomingMessage; readonly response: ServerResponse };
}

function ignore(): void {
  // The close event reports that the caller disconnected; the error adds nothing.
}
