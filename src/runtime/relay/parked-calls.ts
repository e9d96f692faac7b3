import { DomainError } from "../../domain-error.ts";
import type { ClientAnswer, RequestToClient } from "../../integrations/relayed-client.ts";
import { INVALID_PARAMS, RpcError } from "../../integrations/rpc-error.ts";
import { isJsonObject, parseJson, printJson, type JsonObject, type JsonValue } from "../../json.ts";
import { createRelayAddress, type RelayMessages } from "./relay-messages.ts";

/** Milliseconds that a parked call waits for its client. */
const RESUMED_WITHIN_MS = 600_000;
/** Milliseconds in which further requests of the upstream join the first, so that the client is asked once. */
const JOIN_MS = 25;

const MAX_DEPTH = 64;

/** State of a call: finished with a response, or waiting for answers of its client. */
export type CallStep =
  | { readonly kind: "done"; readonly response: JsonValue }
  | { readonly kind: "asks"; readonly requests: JsonObject; readonly address: string };

/**
 * Calls of clients of 2026-07-28 to upstreams with sessions. Such an upstream asks while its call runs, but the client
 * answers with a further request, on any replica; until then the call is parked.
 */
export interface ParkedCalls {
  /**
   * Runs a call until it finishes or asks. `run` returns the response; it must not reject. Aborts the controller if the
   * client does not continue the call in time. `given` are answers that the client sent before it was asked.
   */
  start(
    accountId: string,
    controller: AbortController,
    given: JsonObject,
    run: (ask: AskWhileParked) => Promise<JsonValue>,
  ): Promise<CallStep>;
  /**
   * Continues a parked call with answers. Requests without an answer are asked again. Throws RpcError if the call is no
   * longer parked, or the reason of the signal, which cancels the call.
   */
  resume(accountId: string, address: string, responses: JsonObject, signal: AbortSignal): Promise<CallStep>;
}

export type AskWhileParked = (request: RequestToClient, signal: AbortSignal) => Promise<ClientAnswer>;

interface Question {
  readonly request: JsonObject;
  readonly answer: (answer: ClientAnswer) => void;
}

export function createParkedCalls(relays: RelayMessages): ParkedCalls {
  function createRun(accountId: string, controller: AbortController, given: Map<string, JsonObject>) {
    const questions = new Map<string, Question>();
    const finished = Promise.withResolvers<CallStep>();
    let asked = Promise.withResolvers<undefined>();

    const ask: AskWhileParked = ({ method, params, key }, signal) =>
      new Promise((resolve, reject) => {
        const result = given.get(key);
        if (result !== undefined) {
          given.delete(key);
          resolve({ kind: "result", result });
          return;
        }
        let name = key;
        while (questions.has(name)) name += "_";
        const leave = (): void => {
          questions.delete(name);
          reject(signal.reason instanceof Error ? signal.reason : new Error("The call ended."));
        };
        signal.addEventListener("abort", leave, { once: true });
        controller.signal.addEventListener("abort", leave, { once: true });
        questions.set(name, {
          request: { method, params: forStateless(params) },
          answer: (answer) => {
            questions.delete(name);
            signal.removeEventListener("abort", leave);
            controller.signal.removeEventListener("abort", leave);
            resolve(answer);
          },
        });
        setTimeout(() => asked.resolve(undefined), JOIN_MS);
      });

    function park(): CallStep {
      const address = createRelayAddress();
      const timer = setTimeout(() => {
        stop();
        controller.abort(new Error("The client did not continue the call in time."));
      }, RESUMED_WITHIN_MS).unref();
      const stop = relays.receive(accountId, address, (text) => {
        clearTimeout(timer);
        stop();
        const { responses, replyTo } = readObject(text);
        if (!isJsonObject(responses) || typeof replyTo !== "string") return;
        // After this, the only message to this address says that the client left.
        const stopListening = relays.receive(accountId, address, () => controller.abort(new Error("The client left.")));
        void resume(responses).then(async (step) => {
          stopListening();
          const isTaken = await relays.send(accountId, replyTo, printJson(toJson(step))).catch(() => false);
          if (!isTaken) controller.abort(new Error("The client left."));
        });
      });
      void finished.promise.then(() => {
        clearTimeout(timer);
        stop();
      });
      const requests = Object.fromEntries([...questions].map(([key, { request }]) => [key, request]));
      return { kind: "asks", requests, address };
    }

    async function next(): Promise<CallStep> {
      const step = await Promise.race([finished.promise, asked.promise]);
      asked = Promise.withResolvers();
      if (step !== undefined) return step;
      return questions.size === 0 ? next() : park();
    }

    function resume(responses: JsonObject): Promise<CallStep> {
      for (const [key, { answer }] of [...questions]) {
        const result = responses[key];
        if (isJsonObject(result)) answer({ kind: "result", result });
      }
      if (questions.size > 0) asked.resolve(undefined);
      return next();
    }

    return { ask, next, finish: (response: JsonValue) => finished.resolve({ kind: "done", response }) };
  }

  return {
    start(accountId, controller, given, run) {
      const call = createRun(accountId, controller, namedAnswers(given));
      void run(call.ask).then(call.finish);
      return call.next();
    },

    async resume(accountId, address, responses, signal) {
      const replyTo = createRelayAddress();
      const { promise, resolve, reject } = Promise.withResolvers<CallStep>();
      const stop = relays.receive(accountId, replyTo, (text) => resolve(readStep(readObject(text))));
      const leave = (): void => {
        void relays.send(accountId, address, "{}").catch(() => undefined);
        reject(signal.reason instanceof Error ? signal.reason : new Error("The client left."));
      };
      signal.addEventListener("abort", leave, { once: true });
      try {
        if (!(await relays.send(accountId, address, printJson({ responses, replyTo })))) throw noLongerParked();
        return await promise;
      } finally {
        stop();
        signal.removeEventListener("abort", leave);
      }
    },
  };
}

/** Selects the answers under names that upstreams choose. A number may stand for something else in another call. */
function namedAnswers(given: JsonObject): Map<string, JsonObject> {
  const named = new Map<string, JsonObject>();
  for (const [key, result] of Object.entries(given)) {
    if (isJsonObject(result) && !/^\d+$/.test(key)) named.set(key, result);
  }
  return named;
}

/** 2026-07-28 has no ids of elicitations and no tasks in requests of servers. */
export function forStateless({ elicitationId: _id, task: _task, ...params }: JsonObject): JsonObject {
  return params;
}

function noLongerParked(): RpcError {
  const message =
    "The call that asked is no longer running: it was answered before, waited too long, or its server stopped. " +
    "Send the request again without requestState and inputResponses.";
  return new RpcError({ code: INVALID_PARAMS, message });
}

function toJson(step: CallStep): JsonObject {
  return step.kind === "done"
    ? { kind: "done", response: step.response }
    : { kind: "asks", requests: step.requests, address: step.address };
}

function readStep({ kind, response = null, requests, address }: JsonObject): CallStep {
  if (kind === "done") return { kind, response };
  if (kind === "asks" && isJsonObject(requests) && typeof address === "string") return { kind, requests, address };
  throw new DomainError("internal", "another replica sent a malformed step of a call.");
}

function readObject(text: string): JsonObject {
  const value = parseJson(text, { maxDepth: MAX_DEPTH + 2 });
  return isJsonObject(value) ? value : {};
}
