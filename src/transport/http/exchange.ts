import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { TransportError } from "./fault.ts";

export const EMPTY_BODY: Buffer = Buffer.alloc(0);

/** Header names in lower case with their values. */
export type HeaderFields = Readonly<Record<string, string>>;

/** One request and its response, over HTTP/1.1 or HTTP/2. The body is read only on demand. */
export interface HttpExchange {
  readonly httpVersion: "1.1" | "2.0";
  readonly method: string;
  /** Path and query as received, still encoded. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Alternating names and values as received, so that repeated headers are visible. */
  readonly rawHeaders: readonly string[];
  /** The address of the socket's peer. Empty after the socket has closed. */
  readonly peerAddress: string;
  /** Whether this port terminates TLS for the connection. */
  readonly isEncrypted: boolean;
  /** The connection: the same object for all its exchanges. Undefined after it has closed. */
  readonly connection: object | undefined;
  /** Whether the request announces a body. */
  readonly hasBody: boolean;
  /** Whether a response can still reach the caller. */
  readonly isOpen: boolean;
  /** Whether the response has started. */
  readonly hasAnswered: boolean;
  /** Headers added to every response of this exchange. */
  alwaysSend: HeaderFields | undefined;
  /** The `Set-Cookie` headers of the response. */
  setCookies: readonly string[] | undefined;
  /**
   * Reads the whole body. Fails with `too_large` past the limit, and with ConnectionLost if the caller disconnects
   * first.
   */
  readBody(maxBytes: number): Buffer | Promise<Buffer>;
  /** Sends `100 Continue` if the caller expects it. `readBody` does so itself. */
  sendContinue(): void;
  /**
   * Sends a complete response; adds `content-length` unless the status has no body (204, 304). The body is omitted for
   * HEAD.
   */
  respond(status: number, headers: HeaderFields, body: string | Uint8Array): void;
  /** Sends a complete response with trailers (HTTP/2 only). */
  respondWithTrailers(headers: HeaderFields, body: Uint8Array | undefined, trailers: HeaderFields): void;
  /** Starts a streamed response. */
  open(status: number, headers: HeaderFields): Outlet;
  /** Calls back once when the exchange has ended, with or without a response. */
  onClose(listener: () => void): void;
  /** Keeps the idle connection open although nothing was sent for some time, because the answer takes long. */
  keepOpen(): void;
  /** Closes the exchange immediately. */
  destroy(): void;
  /** Discards the rest of the body within limits, for a response sent before the body was read. */
  discardBody(): void;
  /** Converts the exchange to Node's request and response objects. Afterwards it must not be used to respond. */
  toNode(): { readonly request: IncomingMessage; readonly response: ServerResponse };
}

/** Writes a streamed response. */
export interface Outlet {
  /** Resolves to true when more may be written, to false when the caller has disconnected. */
  write(chunk: string | Uint8Array): Promise<boolean>;
  end(): void;
}

/** The caller disconnected before its request was complete, so there is nobody to respond to. */
export class ConnectionLost extends Error {
  constructor() {
    super("The connection was lost before the request was complete.");
    this.name = "ConnectionLost";
  }
}

/** Returns a header that may occur once. Node would return the first of several; here several count as none. */
export function onlyHeader({ headers, rawHeaders }: HttpExchange, name: string): string | undefined {
  const times = rawHeaders.filter((word, at) => at % 2 === 0 && word.toLowerCase() === name).length;
  const value = headers[name];
  return times === 1 && typeof value === "string" ? value : undefined;
}

/** Adds a request header to `Vary` unless it is listed already. */
export function addVary(exchange: HttpExchange, name: string): void {
  const others = exchange.alwaysSend?.["vary"];
  exchange.alwaysSend = { ...exchange.alwaysSend, vary: others === undefined ? name : `${others}, ${name}` };
}

/** The error for a body over its limit. */
export function bodyTooLarge(maxBytes: number): TransportError {
  return new TransportError("too_large", `The request body is larger than ${String(maxBytes)} bytes.`);
}

/** Reads a body from a Node stream up to a limit and discards the rest. */
export function collectBody(source: NodeJS.ReadableStream, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined;
    let more: Buffer[] | undefined;
    let size = 0;
    let isDone = false;
    // The listeners stay, because removing them costs more than the few further calls.
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
