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

/** How a protocol serves one call. */
export interface CallProtocol {
  /** As Connect names it in handler contexts. */
  readonly name: string;
  /** The caller's deadline in milliseconds from now; undefined for none. Throws ConnectError for one that cannot be read. */
  timeoutMs?(exchange: HttpExchange): number | undefined;
  /** Reads the request, makes the call, answers. A stream stops the deadline. */
  answer(exchange: HttpExchange, context: CallContext, stopDeadline: () => void): Promise<void>;
  /** Answers with a fault; the context is undefined when there never was a call. */
  fail(exchange: HttpExchange, fault: Fault, context: CallContext | undefined): void;
}

/** Serves one call: admission, the call's context, and faults are the same for REST, Connect and gRPC. Never rejects. */
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
      // The first reason for which a call ends counts.
      context?.end(thrown);
      protocol.fail(exchange, toCallFault(context?.endReason ?? thrown, rpc, deps.log), context);
    },
  });
}
