import { type AdmissionDeps, serveAdmitted } from "../gate/serve-admitted.ts";
import type { HttpExchange } from "../http/exchange.ts";
import type { Fault } from "../http/fault.ts";
import type { Log } from "../http/log.ts";
import { CallContext } from "./call-context.ts";
import { toCallFault } from "./call-fault.ts";
import type { ServedRpc } from "./calls.ts";

/** What calls of every protocol need. */
export interface CallDeps extends AdmissionDeps {
  readonly log: Log;
}

/** The protocol-specific parts of a call. */
export interface CallProtocol {
  /** The protocol name in Connect's handler contexts. */
  readonly name: string;
  /** The caller's deadline in milliseconds from now; undefined for none. Throws ConnectError for an invalid one. */
  timeoutMs?(exchange: HttpExchange): number | undefined;
  /** Reads the request, calls and responds. A stream stops the deadline. */
  answer(exchange: HttpExchange, context: CallContext, stopDeadline: () => void): Promise<void>;
  /** Sends a fault. The context is undefined if the call had not started. */
  fail(exchange: HttpExchange, fault: Fault, context: CallContext | undefined): void;
}

/** Serves one call: admission, context and faults are the same for REST, Connect and gRPC. Never rejects. */
export function serveCall(
  rpc: ServedRpc,
  protocol: CallProtocol,
  exchange: HttpExchange,
  deps: CallDeps,
): Promise<void> {
  let context: CallContext | undefined;
  return serveAdmitted(deps, exchange, {
    access: rpc,
    limiter: rpc.limiter,
    serve: (principal, stopDeadline) => {
      context = new CallContext(rpc, exchange, protocol.name, principal, protocol.timeoutMs?.(exchange));
      context.stopDeadline = stopDeadline;
      return protocol.answer(exchange, context, stopDeadline);
    },
    end: () => context?.end(),
    fail: (thrown) => {
      // The first reason for ending a call counts.
      context?.end(thrown);
      protocol.fail(exchange, toCallFault(context?.endReason ?? thrown, rpc, deps.log), context);
    },
  });
}
