import type { DescMessage } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJsonBytes, parseTimeout } from "@connectrpc/connect/protocol-connect";
import type { CallContext } from "../call-context.ts";
import type { HeaderFields } from "../../http/exchange.ts";
import { createMessageWriter, type MessageWriter } from "../rest/write-message.ts";
import { headerOf, type FastProtocol } from "./fast-protocol.ts";
import { parseBinaryMessage, parseJsonMessage, writeBinary } from "./fast-unary.ts";

const JSON_TYPE: HeaderFields = { "content-type": "application/json" };
const PROTO_TYPE: HeaderFields = { "content-type": "application/proto" };

/** The longest deadline that a caller may set, in milliseconds. */
export const MAX_TIMEOUT_MS = 40_000;

/** Connect's unary protocol with JSON or binary messages. */
export function createFastConnect(output: DescMessage, format: "json" | "proto"): FastProtocol {
  const write: MessageWriter = createMessageWriter(output);
  return {
    name: "connect",
    overheadBytes: 0,
    timeoutMs: (exchange) => {
      const header = headerOf(exchange, "connect-timeout-ms");
      if (header === undefined) return undefined;
      const { timeoutMs, error } = parseTimeout(header, MAX_TIMEOUT_MS);
      if (error !== undefined) throw error;
      return timeoutMs;
    },
    parse: format === "json" ? parseJsonMessage : parseBinaryMessage,
    succeed: (exchange, message, context) => {
      if (format === "json") exchange.respond(200, withHeaders(JSON_TYPE, context), JSON.stringify(write(message)));
      else exchange.respond(200, withHeaders(PROTO_TYPE, context), writeBinary(output, message));
    },
    fail: (exchange, error, context) => {
      const headers = { ...withHeaders(JSON_TYPE, context), ...metadataOf(error) };
      exchange.respond(codeToHttpStatus(error.code), headers, errorToJsonBytes(error, undefined));
    },
  };
}

/** The headers that the handler set, after those of the protocol; its trailers travel as `trailer-` headers. */
function withHeaders(own: HeaderFields, context: CallContext | undefined): HeaderFields {
  const set = context?.responseHeaderIfSet;
  const trailers = context?.responseTrailerIfSet;
  if (set === undefined && trailers === undefined) return own;
  const fields: Record<string, string> = { ...Object.fromEntries(set ?? []), ...own };
  for (const [name, value] of trailers ?? []) fields[`trailer-${name}`] = value;
  return fields;
}

/** An error's metadata as headers. */
export function metadataOf(error: ConnectError): HeaderFields {
  return Object.fromEntries(error.metadata);
}
