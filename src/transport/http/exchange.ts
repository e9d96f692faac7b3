import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { TransportError } from "./fault.ts";

/** The body of a request without one. */
export const EMPTY_BODY: Buffer = Buffer.alloc(0);

/** Header names in lower case with their values. */
export type HeaderFields = Readonly<Record<string, string>>;

/** One request and its answer, over HTTP/1.1 or HTTP/2 alike. Nothing is read before somebody asks for the body. */
export interface HttpExchange {
  readonly httpVersion: "1.1" | "2.0";
  readonly method: string;
  /** Path and query as they came, still encoded. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn as they came, so that doubled headers show. */
  readonly rawHeaders: readonly string[];
  /** The address of the peer of the socket. Empty when it is gone. */
  readonly peerAddress: string;
  /** Whether the connection is encrypted by TLS of this port. */
  readonly isEncrypted: boolean;
  /** What it came over: the same object for all exchanges over one connection. Undefined when that is gone. */
  readonly connection: object | undefined;
  /** Whether the request announces a body. */
  readonly hasBody: boolean;
  /** Whether the answer can still reach the caller. */
  readonly isOpen: boolean;
  /** Whether the answer has begun. */
  readonly hasAnswered: boolean;
  /** Headers that every answer of this exchange carries besides its own. */
  alwaysSend: HeaderFields | undefined;
  /** The `Set-Cookie` headers of the answer. */
  setCookies: readonly string[] | undefined;
  /** The whole body. Throws or rejects with `too_large` past the limit, rejects with ConnectionLost when the caller goes away first. */
  readBody(maxBytes: number): Buffer | Promise<Buffer>;
  /** Tells a caller that waits for it (`Expect: 100-continue`) to send the body. `readBody` does so itself. */
  sendContinue(): void;
  /** Answers in one piece; adds `content-length`, except where there cannot be a body (204, 304). The body is left out for HEAD. */
  respond(status: number, headers: HeaderFields, body: string | Uint8Array): void;
  /** Answers in one piece with trailers (HTTP/2 alone). */
  respondWithTrailers(headers: HeaderFields, body: Uint8Array | undefined, trailers: HeaderFields): void;
  /** Begins an answer without an end in sight. */
  open(status: number, headers: HeaderFields): Outlet;
  /** Calls back once when the exchange is over, answered or not. */
  onClose(listener: () => void): void;
  /** Keeps the idle connection open although nothing was sent for some time, because the answer takes long. */
  keepOpen(): void;
  /** Cuts the exchange off. */
  destroy(): void;
  /** Takes no more of the body than it must, for an answer that came before the body was read. */
  discardBody(): void;
  /** The same exchange as Node's own pair, for handlers that want it. The exchange must not be used to answer after that. */
  toNode(): { readonly request: IncomingMessage; readonly response: ServerResponse };
}

/** The writing end of a streamed answer. */
export interface Outlet {
  /** Resolves when more may be written; resolves false when the caller is gone. */
  write(chunk: string | Uint8Array): Promise<boolean>;
  end(): void;
}

/** The caller went away before its request was complete; there is nobody to answer. */
export class ConnectionLost extends Error {
  constructor() {
    super("The connection was lost before the request was complete.");
    this.name = "ConnectionLost";
  }
}

/** A header that may appear once. Node would take the first of several; here several are as good as none. */
export function onlyHeader({ headers, rawHeaders }: HttpExchange, name: string): string | undefined {
  const times = rawHeaders.filter((word, at) => at % 2 === 0 && word.toLowerCase() === name).length;
  const value = headers[name];
  return times === 1 && typeof value === "string" ? value : undefined;
}

/** Says that the answer depends on a header of the request, besides those that it is said of already. */
export function addVary(exchange: HttpExchange, name: string): void {
  const others = exchange.alwaysSend?.["vary"];
  exchange.alwaysSend = { ...exchange.alwaysSend, vary: others === undefined ? name : `${others}, ${name}` };
}

/** A body past its limit. */
export function bodyTooLarge(maxBytes: number): TransportError {
  return new TransportError("too_large", `The request body is larger than ${String(maxBytes)} bytes.`);
}

/** Collects a body from a Node stream up to a limit; what is beyond is thrown away, never kept. */
export function collectBody(source: NodeJS.ReadableStream, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined;
    let more: Buffer[] | undefined;
    let size = 0;
    let isDone = false;
    // The listeners stay: taking them off costs more than the calls that they still get.
    source.on("data", (chunk: Buffer) => {
      size += chunk.byteLength;
      if (isDone) return;
      if (size > maxBytes) {
        isDone = true;
        first = undefined;
        more = undefined;
        reject(bodyTooLarge(maxBytes));
      } else if (first === undefined) first = chunk;
      else (more ??= [first]).push(chunk);
    });
    source.on("end", () => {
      isDone = true;
      resolve(more === undefined ? (first ?? EMPTY_BODY) : Buffer.concat(more, size));
    });
    source.on("close", () => {
      if (!isDone) reject(new ConnectionLost());
    });
  });
}
