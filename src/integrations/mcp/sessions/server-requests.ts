import type { JsonObject, JsonValue } from "../../../json.ts";
import { type ClientAnswer, type RelayedClient, unsupportedRequest } from "../../relayed-client.ts";
import { INTERNAL_ERROR, METHOD_NOT_FOUND } from "../../rpc-error.ts";

/**
 * Maximum number of a server's requests that are answered per stream and period; more could make the client send
 * without end.
 */
const MAX_SERVER_REQUESTS = 32;
/** The period of that limit, in milliseconds; a notification stream may stay open for days. */
const SERVER_REQUESTS_MS = 10_000;

/** The requests that a server sends on one stream. */
export interface ServerRequests {
  answer(id: JsonValue, method: string, params: JsonObject): void;
  /** The server needs no answer any more. */
  cancel(id: JsonValue | undefined): void;
  /** The stream is over: cancels what the client has not answered. */
  close(): void;
}

/** `client` returns the client that can answer now. `reply` sends a response. */
export function createServerRequests(
  client: () => RelayedClient | undefined,
  reply: (message: JsonObject) => void,
): ServerRequests {
  const asked = new Map<string, AbortController>();
  let answered = 0;
  let answeredSinceMs = 0;

  async function ask(id: JsonValue, method: string, params: JsonObject): Promise<void> {
    const controller = new AbortController();
    const key = JSON.stringify(id);
    asked.set(key, controller);
    const answer = await answerOf(
      client(),
      { method, params, key: typeof id === "string" ? id : key },
      controller.signal,
    );
    if (asked.get(key) === controller) asked.delete(key);
    if (controller.signal.aborted) return;
    if (answer.kind === "result") reply({ id, result: answer.result });
    else {
      const { code, message, data } = answer;
      reply({ id, error: { code, message, ...(data !== undefined && { data }) } });
    }
  }

  return {
    answer(id, method, params) {
      if (performance.now() - answeredSinceMs > SERVER_REQUESTS_MS) {
        answered = 0;
        answeredSinceMs = performance.now();
      }
      answered += 1;
      if (answered > MAX_SERVER_REQUESTS) return;
      if (method === "ping") reply({ id, result: {} });
      else void ask(id, method, params);
    },
    cancel(id) {
      if (id !== undefined) asked.get(JSON.stringify(id))?.abort(new Error("The server canceled its request."));
    },
    close() {
      for (const controller of asked.values()) controller.abort(new Error("The call ended."));
    },
  };
}

/** The answer of a client, or the error that tells a server why there is none. Never rejects. */
async function answerOf(
  client: RelayedClient | undefined,
  request: { readonly method: string; readonly params: JsonObject; readonly key: string },
  signal: AbortSignal,
): Promise<ClientAnswer> {
  const { method } = request;
  if (client === undefined) {
    return { kind: "error", code: METHOD_NOT_FOUND, message: `${method} is not supported by this client` };
  }
  const problem = unsupportedRequest(client.capabilities, request);
  if (problem !== undefined) return { kind: "error", code: METHOD_NOT_FOUND, message: problem };
  try {
    return await client.ask(request, signal);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "The call ended.";
    return { kind: "error", code: INTERNAL_ERROR, message: `${method} was not answered: ${reason}` };
  }
}
