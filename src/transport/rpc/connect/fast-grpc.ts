import type { DescMessage } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { parseTimeout, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { HeaderFields } from "../../http/exchange.ts";
import { MAX_TIMEOUT_MS } from "./fast-connect.ts";
import { headerOf, type FastProtocol } from "./fast-protocol.ts";
import { parseBinaryMessage, writeBinary } from "./fast-unary.ts";

/** One flag byte and four bytes of length before each message. */
const PREFIX_BYTES = 5;

const HEADERS: HeaderFields = { "content-type": "application/grpc+proto" };
const STATUS_OK: HeaderFields = { "grpc-status": "0" };

/** gRPC over HTTP/2 with binary, uncompressed messages. */
export function createFastGrpc(output: DescMessage): FastProtocol {
  return {
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
    succeed: (exchange, message, context) => {
      const set = context.responseHeaderIfSet;
      const trailers = context.responseTrailerIfSet;
      exchange.respondWithTrailers(
        set === undefined ? HEADERS : { ...Object.fromEntries(set), ...HEADERS },
        framed(writeBinary(output, message)),
        trailers === undefined ? STATUS_OK : { ...Object.fromEntries(trailers), ...STATUS_OK },
      );
    },
    fail: (exchange, error, context) => {
      const trailers = setTrailerStatus(new Headers(context?.responseTrailerIfSet), error);
      exchange.respondWithTrailers(HEADERS, undefined, Object.fromEntries(trailers));
    },
  };
}

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

/** A message behind its prefix: no compression, and its length. */
function framed(bytes: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + bytes.byteLength);
  frame[0] = 0;
  frame.writeUInt32BE(bytes.byteLength, 1);
  frame.set(bytes, PREFIX_BYTES);
  return frame;
}
