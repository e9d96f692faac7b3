import type { ClientAnswer, RelayedClient } from "../../integrations/relayed-client.ts";
import { isJsonObject, printJson, type JsonObject } from "../../json.ts";
import { withMembers } from "../../json-text.ts";
import { forStateless } from "../relay/parked-calls.ts";

/** The requests of a task to its client. */
export interface TaskQuestions {
  readonly ask: RelayedClient["ask"];
  /** Passes on the answers to open questions and ignores others. */
  answer(inputResponses: JsonObject): void;
  /** Adds the open questions to the state of a task that has not ended. */
  mark(json: string): string;
}

/** Maximum number of questions of one task, including answered ones. */
const MAX_QUESTIONS = 200;
/** In characters. */
const MAX_KEY_LENGTH = 256;

interface TaskQuestion {
  readonly request: JsonObject;
  readonly resolve: (answer: ClientAnswer) => void;
}

/** `onChange` is called after a question is asked or no longer needs an answer. `ended` ends all questions. */
export function createTaskQuestions(ended: AbortSignal, onChange: () => void): TaskQuestions {
  const open = new Map<string, TaskQuestion>();
  // The extension forbids using a key twice.
  const used = new Set<string>();

  return {
    ask: ({ method, params, key }, signal) =>
      new Promise((resolve, reject) => {
        if (used.size >= MAX_QUESTIONS || key.length > MAX_KEY_LENGTH) {
          reject(
            new Error(`A task has at most ${MAX_QUESTIONS} questions, with keys of ${MAX_KEY_LENGTH} characters.`),
          );
          return;
        }
        let name = key;
        while (used.has(name)) name += "_";
        used.add(name);
        const leave = (): void => {
          if (!open.delete(name)) return;
          onChange();
          reject(new Error("The task needs no answer any more."));
        };
        signal.addEventListener("abort", leave, { once: true });
        ended.addEventListener("abort", leave, { once: true });
        const settle = (answer: ClientAnswer): void => {
          signal.removeEventListener("abort", leave);
          ended.removeEventListener("abort", leave);
          resolve(answer);
        };
        open.set(name, { request: { method, params: forStateless(params) }, resolve: settle });
        onChange();
      }),

    answer(inputResponses) {
      for (const [key, result] of Object.entries(inputResponses)) {
        const question = open.get(key);
        if (question === undefined || !isJsonObject(result)) continue;
        open.delete(key);
        question.resolve({ kind: "result", result });
      }
    },

    mark(json) {
      const requests = Object.fromEntries([...open].map(([key, { request }]) => [key, request]));
      const isAsking = open.size > 0;
      return withMembers(json, {
        status: isAsking ? '"input_required"' : '"working"',
        lastUpdatedAt: JSON.stringify(new Date().toISOString()),
        inputRequests: isAsking ? printJson(requests) : undefined,
      });
    },
  };
}
