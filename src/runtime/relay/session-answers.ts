import { createHash } from "node:crypto";
import type { ClientAnswer } from "../../integrations/relayed-client.ts";
import { INTERNAL_ERROR } from "../../integrations/rpc-error.ts";
import { isJsonObject, parseJson, printJson, type JsonObject } from "../../json.ts";
import { createRelayAddress, type RelayMessages } from "./relay-messages.ts";

/** Milliseconds that a client with sessions may take to answer. */
const ANSWER_WITHIN_MS = 3_600_000;

const ADDRESS = /^[A-Za-z0-9_-]{22}$/;

/** The session whose client is asked. */
export interface AnsweringSession {
  readonly accountId: string;
  readonly id: string;
}

/** Answers of clients with sessions, which arrive as separate requests on any replica. */
export interface SessionAnswers {
  /**
   * Sends a request with a new id and waits for the answer. Rejects with the signal's reason after `cancel` was called,
   * or when the client does not answer in time.
   */
  ask(session: AnsweringSession, messages: QuestionMessages, signal: AbortSignal): Promise<ClientAnswer>;
  /** Passes on a response of the session's client. Does nothing if nobody waits for it. */
  deliver(session: AnsweringSession, response: JsonObject): Promise<void>;
}

export interface QuestionMessages {
  /** Sends the request to the client. */
  readonly send: (id: string) => Promise<void>;
  /** Tells the client that the request needs no answer any more. */
  readonly cancel: (id: string) => void;
}

export function createSessionAnswers(relays: RelayMessages): SessionAnswers {
  return {
    async ask({ accountId, id: sessionId }, { send, cancel }, signal) {
      signal.throwIfAborted();
      const id = createRelayAddress();
      const { promise, resolve, reject } = Promise.withResolvers<ClientAnswer>();
      const stop = relays.receive(accountId, id, (text) => {
        const message = parseJson(text, { maxDepth: 64 });
        // Another session of the account cannot answer.
        if (isJsonObject(message) && message.session === digest(sessionId)) resolve(readAnswer(message));
      });
      const giveUp = (reason: unknown): void => {
        cancel(id);
        reject(reason instanceof Error ? reason : new Error("The call ended."));
      };
      const onAbort = (): void => giveUp(signal.reason);
      const timer = setTimeout(() => giveUp(new Error("The client did not answer in time.")), ANSWER_WITHIN_MS).unref();
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        await send(id);
        return await promise;
      } finally {
        stop();
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
      }
    },

    async deliver({ accountId, id: sessionId }, { id, result, error }) {
      if (typeof id !== "string" || !ADDRESS.test(id)) return;
      const answer = { session: digest(sessionId), ...(result !== undefined ? { result } : { error: error ?? null }) };
      await relays.send(accountId, id, printJson(answer));
    },
  };
}

function readAnswer({ result, error }: JsonObject): ClientAnswer {
  if (isJsonObject(result)) return { kind: "result", result };
  const { code, message, data } = isJsonObject(error) ? error : {};
  return {
    kind: "error",
    code: typeof code === "number" ? code : INTERNAL_ERROR,
    message: typeof message === "string" ? message : "The client answered with an error.",
    data,
  };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
