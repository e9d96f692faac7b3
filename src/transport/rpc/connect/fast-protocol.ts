import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { CallContext } from "../call-context.ts";
import type { Output, ServedRpc } from "../calls.ts";
import type { HttpExchange } from "../../http/exchange.ts";

/** What differs between the protocols that have a short way. */
export interface FastProtocol {
  /** As Connect names it in handler contexts. */
  readonly name: string;
  /** What a body may hold besides the message, in bytes. */
  readonly overheadBytes: number;
  /** The caller's deadline in milliseconds from now. Undefined means none. Throws ConnectError for one that cannot be read. */
  timeoutMs(exchange: HttpExchange): number | undefined;
  /** The request message in a body. Throws ConnectError. */
  parse(body: Buffer, rpc: ServedRpc): Message;
  /** Answers with what the implementation returned. */
  succeed(exchange: HttpExchange, output: Output, context: CallContext): void;
  /** Answers with an error; the context is undefined when there never was a call. */
  fail(exchange: HttpExchange, error: ConnectError, context: CallContext | undefined): void;
}

/** The first value of a header. */
export function headerOf(exchange: HttpExchange, name: string): string | undefined {
  const value = exchange.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
