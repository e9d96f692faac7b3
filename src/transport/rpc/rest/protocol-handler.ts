import type { CallContext } from "../call-context.ts";
import { toCallFault } from "../call-fault.ts";
import { callUnary, REST } from "../calls.ts";
import { type CallDeps, type CallProtocol, serveCall } from "../serve-call.ts";
import { answerFault, EVENT_STREAM_HEADERS } from "../../http/answer.ts";
import { parseJsonBody, readJsonBytes } from "../../http/read-body.ts";
import type { Fault } from "../../http/fault.ts";
import type { RouteHandler } from "../../http/router.ts";
import type { Binding } from "./binding.ts";
import { answerEvents } from "./event-stream.ts";
import { createAnswerWriter } from "./write-answer.ts";
import { createMessageWriter } from "./write-message.ts";

export interface RestDeps extends CallDeps {
  /** Aborts when the server stops, which ends streams. */
  readonly shutdownSignal: AbortSignal;
}

/** Creates the handler of a binding: reads the body, builds the message, calls the implementation, writes JSON. */
export function createRestHandler(binding: Binding, deps: RestDeps): RouteHandler {
  const { rpc } = binding;
  const write = createMessageWriter(rpc.method.output);
  const isStream = rpc.method.methodKind === "server_streaming";
  const answer = createAnswerWriter(rpc);

  return (exchange, { parameters, query }) => {
    const protocol: CallProtocol = {
      name: REST,
      answer: async (_exchange, context, stopDeadline) => {
        const body = binding.takesBody ? parseJsonBody(await readJsonBytes(exchange, rpc.maxRequestBytes)) : undefined;
        const message = binding.build(parameters, query, body);
        if (!isStream) await answer(exchange, context, await callUnary(rpc, message, context));
        else if (exchange.method === "HEAD") exchange.open(200, EVENT_STREAM_HEADERS).end();
        else {
          stopDeadline();
          const faultOf = (thrown: unknown): Fault => toCallFault(thrown, rpc, deps.log);
          await answerEvents(binding, exchange, message, endedBy(deps.shutdownSignal, context), write, faultOf);
        }
      },
      fail: answerFault,
    };
    return serveCall(rpc, protocol, exchange, deps);
  };
}

/** A stream does not end by itself, so a stopping server ends it. */
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
