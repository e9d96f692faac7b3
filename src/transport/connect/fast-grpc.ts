import { Code, ConnectError } from "@connectrpc/connect";
import { parseTimeout, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { HeaderFields } from "../http/exchange.ts";
import { MAX_TIMEOUT_MS } from "./fast-connect.ts";
import { headerOf, type FastProtocol } from "./fast-protocol.ts";
import { parseBinaryMessage, writeBinaryMessage } from "./fast-unary.ts";

/** One flag byte and four bytes of length before each message. */
const PREFIX_BYTES = 5;

const HEADERS: HeaderFields = { "content-type": "application/grpc+proto" };
const STATUS_OK: HeaderFields = { "grpc-status": "0" };

/** gRPC over HTTP/2 with binary, uncompressed messages. */
export const FAST_GRPC: FastProtocol = {
  name: "grpc",
  overheadBytes: PREFIX_BYTES,
  timeoutMs: (exchange) => {
    const header = headerOf(exchange, "grpc-timeout");
    if (header === undefined) return undefined;
    const { timeoutMs, error } = parseTimeout(header, MAX_TIMEOUT_MS);
    if (error !== undefined) throw error;
    return timeoutMs;
  },
  parse: (body, rpc) => parseBinaryMessage(unwrap(body), rpc),
  succeed: (exchange, output, rpc, context) => {
    const set = context.responseHeaderIfSet;
    const trailers = context.responseTrailerIfSet;
    exchange.respondWithTrailers(
      set === undefined ? HEADERS : { ...Object.fromEntries(set), ...HEADERS },
      wrap(writeBinaryMessage(output, rpc)),
      trailers === undefined ? STATUS_OK : { ...Object.fromEntries(trailers), ...STATUS_OK },
    );
  },
  fail: (exchange, error, context) => {
    const trailers = setTrailerStatus(new Headers(context?.responseTrailerIfSet), error);
    exchange.respondWithTrailers(HEADERS, undefined, Object.fromEntries(trailers));
  },
};

function unwrap(body: Buffer): Uint8Array {
  if (body.byteLength < PREFIX_BYTES) throw malformed("the request holds no message");
  if (body[0] !== 0) throw malformed("the message is compressed, but no grpc-encoding was named");
  const length = body.readUInt32BE(1);
  if (body.byteLength !== PREFIX_BYTES + length) throw malformed("the request must hold exactly one message");
  return body.subarray(PREFIX_BYTES);
}

function malformed(sentence: string): ConnectError {
  return new ConnectError(`protocol error: ${sentence}`, Code.InvalidArgument);
}

function wrap(message: Uint8Array): Uint8Array {
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.byteLength);
  framed[0] = 0;
  framed.writeUInt32BE(message.byteLength, 1);
  framed.set(message, PREFIX_BYTES);
  return framed;
}
