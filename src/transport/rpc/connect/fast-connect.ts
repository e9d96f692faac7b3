import { codeToHttpStatus, errorToJsonBytes, parseTimeout } from "@connectrpc/connect/protocol-connect";
import type { CallContext } from "../call-context.ts";
import type { HeaderFields } from "../../http/exchange.ts";
import { toConnectError } from "../call-fault.ts";
import { callUnary, type ServedRpc } from "../calls.ts";
import { createMessageWriter } from "../rest/write-message.ts";
import type { CallProtocol } from "../serve-call.ts";
import { maxTimeoutMs } from "../wait.ts";
import { headerOf, parseBinaryMessage, parseJsonMessage, writeBinary } from "./messages.ts";

const JSON_TYPE: HeaderFields = { "content-type": "application/json" };
const PROTO_TYPE: HeaderFields = { "content-type": "application/proto" };

/** Connect's unary protocol with JSON or binary messages. */
export function createFastConnect(rpc: ServedRpc, format: "json" | "proto"): CallProtocol {
  const { output } = rpc.method;
  const write = createMessageWriter(output);
  const parse = format === "json" ? parseJsonMessage : parseBinaryMessage;
  return {
    name: "connect",
    timeoutMs: (exchange) => {
      const header = headerOf(exchange, "connect-timeout-ms");
      if (header === undefined) return undefined;
      const { timeoutMs, error } = parseTimeout(header, maxTimeoutMs(rpc));
      if (error !== undefined) throw error;
      return timeoutMs;
    },
    answer: async (exchange, context) => {
      const message = parse(await exchange.readBody(rpc.maxRequestBytes), rpc);
      const answer = await callUnary(rpc, message, context);
      if (format === "json") exchange.respond(200, withHeaders(JSON_TYPE, context), JSON.stringify(write(answer)));
      else exchange.respond(200, withHeaders(PROTO_TYPE, context), writeBinary(output, answer));
    },
    fail: (exchange, fault, context) => {
      const error = toConnectError(fault);
      const headers = { ...withHeaders(JSON_TYPE, context), ...Object.fromEntries(error.metadata) };
      exchange.respond(codeToHttpStatus(error.code), headers, errorToJsonBytes(error, undefined));
    },
  };
}

/** The headers set by the handler, after those of the protocol; its trailers are sent as `trailer-` headers. */
function withHeaders(own: HeaderFields, context: CallContext | undefined): HeaderFields {
  const set = context?.responseHeaderIfSet;
  const trailers = context?.responseTrailerIfSet;
  if (set === undefined && trailers === undefined) return own;
  const fields: Record<string, string> = { ...Object.fromEntries(set ?? []), ...own };
  for (const [name, value] of trailers ?? []) fields[`trailer-${name}`] = value;
  return fields;
}
