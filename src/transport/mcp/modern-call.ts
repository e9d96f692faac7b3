import type { Principal } from "../../identity/principal.ts";
import { canBeAsked } from "../../integrations/relayed-client.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { InputNeeded } from "../../runtime/relay/input-needed.ts";
import type { AskWhileParked, CallStep } from "../../runtime/relay/parked-calls.ts";
import type { StatefulRequest } from "../../runtime/relay/request-state.ts";
import { declaresAll, type Envelope } from "./envelope.ts";
import { errorText, resultText, type RpcRequest } from "./message.ts";
import type { RpcMethod } from "./methods.ts";
import { createParamHeaderCheck } from "./param-headers.ts";
import { createModernClient, readInput, type RepeatedInput } from "./request-input.ts";
import { createRelay, readLogLevel } from "./relay.ts";
import type { Reply } from "./reply.ts";
import { toResult, type RpcResult } from "./result.ts";
import { methodFault, type RpcFault } from "./rpc-fault.ts";
import { withTrace } from "./trace-context.ts";
import { createWaitingRequest } from "./waiting.ts";
import type { Admitted, Serving } from "./serving.ts";

const CLIENT_DISCONNECTED = new Error("The client disconnected.");

/** A request of 2026-07-28 for a method of the upstreams. */
export interface ModernCall {
  readonly admitted: Admitted;
  readonly request: RpcRequest;
  readonly envelope: Envelope;
  readonly method: RpcMethod;
  readonly reply: Reply;
}

interface RunContext {
  readonly stateful: StatefulRequest;
  readonly input: RepeatedInput;
  readonly ask: AskWhileParked;
  readonly onSent: () => void;
}

/** Prints a result with the fields of the revision. */
export type PrintResult = (result: RpcResult) => string;

/** Answers requests, some of which upstreams answer only after the client has given input. Never rejects. */
export function createModernCalls(
  { requestStates, parkedCalls, heartbeats, log }: Serving,
  printerFor: (principal: Principal) => PrintResult,
): (call: ModernCall) => Promise<void> {
  const checkParamHeaders = createParamHeaderCheck();

  /** Runs the method. Resolves with the response without its id, because another replica may send the response. */
  async function run(
    { admitted, request, envelope, method, reply }: ModernCall,
    controller: AbortController,
    { stateful, input, ask, onSent }: RunContext,
  ): Promise<JsonValue> {
    const { params } = request;
    const print = printerFor(admitted.principal);
    try {
      const result = await method({
        principal: admitted.principal,
        session: undefined,
        params,
        controller,
        relay: {
          ...withTrace(
            createRelay(params, readLogLevel(envelope.logLevel) ?? "none", reply),
            admitted.exchange,
            params,
          ),
          client: createModernClient(stateful, envelope.capabilities, input, ask),
        },
        onSent,
        inspect: ({ tool }) => {
          const args = params.arguments;
          checkParamHeaders(admitted.exchange, tool.definition, isJsonObject(args) ? args : {});
        },
        declares: (wanted) => declaresAll(envelope.capabilities, wanted),
      });
      return { text: print(result) };
    } catch (thrown) {
      if (!(thrown instanceof InputNeeded)) return fromFault(methodFault(thrown, log));
      const { requests, ...state } = thrown.required;
      return { text: printInput(print, requests, requestStates.seal(stateful, { kind: "upstream", ...state })) };
    }
  }

  async function nextStep(
    call: ModernCall,
    controller: AbortController,
    stateful: StatefulRequest,
    onSent: () => void,
  ): Promise<CallStep> {
    const { principal } = call.admitted;
    const input = readInput(requestStates, stateful);
    if (input.state?.kind === "parked") {
      onSent();
      return parkedCalls.resume(principal.accountId, input.state.address, input.responses ?? {}, controller.signal);
    }
    const never: AskWhileParked = () => Promise.reject(new Error("The client declared no capability."));
    if (!canBeAsked({ capabilities: call.envelope.capabilities })) {
      return { kind: "done", response: await run(call, controller, { stateful, input, ask: never, onSent }) };
    }
    return parkedCalls.start(principal.accountId, controller, input.responses ?? {}, (ask) =>
      run(call, controller, { stateful, input, ask, onSent }),
    );
  }

  return async (call) => {
    const { admitted, request, reply } = call;
    const stateful = { principal: admitted.principal, method: request.method, params: request.params };
    const controller = new AbortController();
    const waiting = createWaitingRequest(heartbeats, reply, admitted.onSent);
    let isAnswered = false;
    // In this revision clients cancel by closing the connection.
    admitted.exchange.onClose(() => {
      if (!isAnswered) controller.abort(CLIENT_DISCONNECTED);
    });
    let response: JsonValue;
    try {
      const step = await nextStep(call, controller, stateful, waiting.onSent);
      isAnswered = true;
      if (step.kind === "asks") {
        const state = requestStates.seal(stateful, { kind: "parked", address: step.address });
        response = { text: printInput(printerFor(admitted.principal), step.requests, state) };
      } else response = step.response;
    } catch (thrown) {
      isAnswered = true;
      response = fromFault(methodFault(thrown, log));
    } finally {
      waiting.end();
    }
    if (controller.signal.reason === CLIENT_DISCONNECTED) return;
    finish(reply, request.id, response);
  };
}

/** An error as JSON, because another replica may send it. */
function fromFault({ code, message, data, httpStatus, headers }: RpcFault): JsonObject {
  return { code, message, httpStatus, headers: { ...headers }, ...(data !== undefined && { data }) };
}

function finish(reply: Reply, id: string, response: JsonValue): void {
  const { text, code, message, data, httpStatus, headers = {} } = isJsonObject(response) ? response : {};
  if (typeof text === "string") {
    reply.finish(resultText(id, text));
    return;
  }
  const error = { code: Number(code), message: typeof message === "string" ? message : "Internal error.", data };
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(isJsonObject(headers) ? headers : {}))
    if (typeof value === "string") own[name] = value;
  reply.finish(errorText(id, error), Number(httpStatus), own);
}

function printInput(print: PrintResult, inputRequests: JsonObject, requestState: string): string {
  return print({ ...toResult({ inputRequests, requestState }), resultType: "input_required" });
}
