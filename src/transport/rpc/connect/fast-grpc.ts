import { Code, ConnectError } from "@connectrpc/connect";
import { parseTimeout, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { HeaderFields } from "../../http/exchange.ts";
import { toConnectError } from "../call-fault.ts";
import { callUnary, type ServedRpc } from "../calls.ts";
import type { CallProtocol } from "../serve-call.ts";
import { maxTimeoutMs } from "../wait.ts";
import { headerOf, parseBinaryMessage, writeBinary } from "./messages.ts";

/** One flag byte and four bytes of length before each message. */
const PREFIX_BYTES = 5;

const HEADERS: HeaderFields = { "content-type": "application/grpc+proto" };
const STATUS_OK: HeaderFields = { "grpc-status": "0" };

/** gRPC over HTTP/2 with binary, uncompressed messages. */
export function createFastGrpc(rpc: ServedRpc): CallProtocol {
  return {
    name: "grpc",
    timeoutMs: (exchange) => {
      const header = headerOf(exchange, "grpc-timeout");
      if (header === undefined) return undefined;
      const { timeoutMs, error } = parseTimeout(header, maxTimeoutMs(rpc));
      if (error !== undefined) throw error;
      return timeoutMs;
    },
    answer: async (exchange, context) => {
      const body = await exchange.readBody(rpc.maxRequestBytes + PREFIX_BYTES);
      const answer = await callUnary(rpc, parseBinaryMessage(unwrap(body), rpc), context);
      const set = context.responseHeaderIfSet;
      const trailers = context.responseTrailerIfSet;
      exchange.respondWithTrailers(
        set === undefined ? HEADERS : { ...Object.fromEntries(set), ...HEADERS },
        framed(writeBinary(rpc.method.output, answer)),
        trailers === undefined ? STATUS_OK : { ...Object.fromEntries(trailers), ...STATUS_OK },
      );
    },
    fail: (exchange, fault, context) => {
      const trailers = setTrailerStatus(new Headers(context?.responseTrailerIfSet), toConnectError(fault));
      exchange.respondWithTrailers(HEADERS, undefined, Object.fromEntries(trailers));
    },
  };
}

function unwrap(body: Buffer): Uint8Array {
  if (body.byteLength < PREFIX_BYTES) throw malformed("the request contains no message");
  if (body[0] !== 0) throw malformed("the message is compressed, but grpc-encoding is missing");
  const length = body.readUInt32BE(1);
  if (body.byteLength !== PREFIX_BYTES + length) throw malformed("the request must contain exactly one message");
  return body.subarray(PREFIX_BYTES);
}

function malformed(sentence: string): ConnectError {
  return new ConnectError(`protocol error: ${sentence}`, Code.InvalidArgument);
}

/** A message with its prefix: no compression, and its length. */
function framed(bytes: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + bytes.byteLength);
  frame[0] = 0;
  frame.writeUInt32BE(bytes.byteLength, 1);
  frame.set(bytes, PREFIX_BYTES);
  return frame;
}
