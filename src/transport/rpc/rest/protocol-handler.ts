import { Code, ConnectError } from "@connectrpc/connect";
import type { TimeLimit } from "../../../time-limit.ts";
import { CallContext } from "../call-context.ts";
import { callUnary, REST } from "../calls.ts";
import type { Fault } from "../../http/fault.ts";
import { toCallFault } from "../call-fault.ts";
import type { Gate } from "../../gate/gate.ts";
import { ConnectionLost } from "../../http/exchange.ts";
import type { Log } from "../../http/log.ts";
import { answerFault } from "../../http/answer.ts";
import type { RouteHandler } from "../../http/router.ts";
import type { Binding } from "./binding.ts";
import { answerEvents, EVENT_STREAM_HEADERS } from "./event-stream.ts";
import { parseJsonBody, readJsonBytes } from "../../http/read-body.ts";
import { createAnswerWriter } from "./write-answer.ts";
import { createMessageWriter } from "./write-message.ts";

/** Serves one binding. Never rejects: whatever goes wrong is answered. */
export type RestHandler = (...request: Parameters<RouteHandler>) => Promise<void>;

/** What REST needs. */
export interface RestDeps {
  readonly gate: Gate;
  readonly timeLimit: TimeLimit;
  readonly log: Log;
  /** Aborts when the server stops, which ends streams. */
  readonly shutdownSignal: AbortSignal;
}

/** Makes the handler of a binding: gate, body, message, implementation, JSON. REST is one more protocol, not other handlers. */
export function createRestHandler(binding: Binding, deps: RestDeps): RestHandler {
  const { rpc } = binding;
  const write = createMessageWriter(rpc.method.output);
  const isStream = rpc.method.methodKind === "server_streaming";
  const answer = createAnswerWriter(rpc);
  const faultOf = (thrown: unknown): Fault => toCallFault(thrown, rpc, deps.log);

  return async (exchange, { parameters, query }) => {
    let context: CallContext | undefined;
    const stopLimit = deps.timeLimit.start(() => {
      const tooLate = new ConnectError("The request took too long.", Code.DeadlineExceeded);
      context?.end(tooLate);
      answerFault(exchange, faultOf(tooLate));
    });
    try {
      const admitted = deps.gate(rpc, exchange);
      const principal = admitted instanceof Promise ? await admitted : admitted;
      const refusal = rpc.limiter?.refuseIfFull(principal?.accountId ?? "");
      if (refusal !== undefined) await refusal;
      const body = binding.takesBody ? parseJsonBody(await readJsonBytes(exchange, rpc.maxRequestBytes)) : undefined;
      const message = binding.build(parameters, query, body);
      context = new CallContext(rpc, exchange, REST, principal);
      if (isStream && exchange.method === "HEAD") {
        exchange.open(200, EVENT_STREAM_HEADERS).end();
        return;
      }
      if (isStream) {
        stopLimit();
        await answerEvents(binding, exchange, message, endedBy(deps.shutdownSignal, context), write, faultOf);
        return;
      }
      const output = await callUnary(rpc, message, context);
      const answered = answer(exchange, context, output);
      if (answered !== undefined) await answered;
    } catch (thrown) {
      if (!(thrown instanceof ConnectionLost) && exchange.isOpen)
        answerFault(exchange, faultOf(context?.endReason ?? thrown));
    } finally {
      stopLimit();
      context?.end();
    }
  };
}

/** A stream has no end of its own, so the server's end must be one. */
function endedBy(shutdown: AbortSignal, context: CallContext): CallContext {
  const end = (): void => {
    context.end(shutdown.reason);
  };
  if (shutdown.aborted) end();
  shutdown.addEventListener("abort", end, { once: true });
  context.signal.addEventListener(
    "abort",
    () => {
      shutdown.removeEventListener("abort", end);
    },
    { once: true },
  );
  return context;
}
