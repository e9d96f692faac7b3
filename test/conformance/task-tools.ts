import { randomUUID } from "node:crypto";
import type { Tool } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../src/json.ts";

/** The revisions' own words for whether a tool becomes a task. */
type TaskSupport = "forbidden" | "optional" | "required";

/** The behavior of a task: the requests that it sends first, by key, and how it ends after so many milliseconds. */
interface TaskPlan {
  readonly asks?: JsonObject;
  readonly afterMs: number;
  readonly end: (answers: JsonObject) => JsonObject;
}

/** A task of the server. Its fields are those of the extension. */
export interface ServerTask {
  readonly id: string;
  /** The state for `tasks/get`, without the id. */
  state(): JsonObject;
  /** The requests that are not answered, by key. */
  readonly asked: Map<string, JsonObject>;
  answer(responses: JsonObject): void;
  cancel(): void;
  /** Resolves when something changed. */
  changed(): Promise<undefined>;
}

const text = (words: string): JsonObject => ({ content: [{ type: "text", text: words }] });
const completed = (result: JsonObject): JsonObject => ({ status: "completed", result });

export const nameForm = (message: string): JsonObject => ({
  method: "elicitation/create",
  params: {
    mode: "form",
    message,
    requestedSchema: { type: "object", properties: { name: { type: "string" } } },
  },
});

const SUPPORT: Readonly<Record<string, TaskSupport>> = {
  greet: "forbidden",
  slow_compute: "optional",
  failing_job: "required",
  protocol_error_job: "optional",
  confirm_delete: "optional",
  multi_input: "optional",
  test_tool_with_task: "required",
};

export const TASK_TOOL_LIST: readonly Tool[] = Object.entries(SUPPORT).map(([name, taskSupport]) => ({
  name,
  description: "May become a task.",
  inputSchema: { type: "object", properties: {} },
  ...(taskSupport !== "forbidden" && { execution: { taskSupport } }),
}));

export function taskSupportOf(name: string): TaskSupport | undefined {
  return SUPPORT[name];
}

export function planOf(name: string, args: JsonObject, person: string): TaskPlan {
  switch (name) {
    case "greet":
      return { afterMs: 0, end: () => completed(text(`Hello, ${String(args["name"])}!`)) };
    case "slow_compute": {
      const words = `Computed ${String(args["label"])}.`;
      return { afterMs: Number(args["seconds"] ?? 0) * 1_000, end: () => completed(text(words)) };
    }
    case "failing_job":
      return { afterMs: 1_000, end: () => completed({ ...text("It failed."), isError: true }) };
    case "protocol_error_job":
      return { afterMs: 100, end: () => ({ status: "failed", error: { code: -32603, message: "It crashed." } }) };
    case "confirm_delete":
      return {
        asks: { confirm: nameForm(`Delete ${String(args["filename"])}?`) },
        afterMs: 50,
        end: (answers) => completed(text(`Answered ${JSON.stringify(answers)}.`)),
      };
    case "multi_input":
      return {
        asks: { first: nameForm("The first name?"), second: nameForm("The second name?") },
        afterMs: 50,
        end: (answers) => completed(text(`Answered ${JSON.stringify(answers)}.`)),
      };
    default:
      return { afterMs: 200, end: () => completed(text(`Hello, ${person}!`)) };
  }
}

export function startTask({ asks = {}, afterMs, end }: TaskPlan): ServerTask {
  const createdAt = new Date().toISOString();
  const asked = new Map(Object.entries(asks) as [string, JsonObject][]);
  const answers: JsonObject = {};
  let ended: JsonObject | undefined;
  let lastUpdatedAt = createdAt;
  let change = Promise.withResolvers<undefined>();
  const tell = (): void => {
    lastUpdatedAt = new Date().toISOString();
    change.resolve(undefined);
    change = Promise.withResolvers();
  };
  const finish = (state: JsonObject): void => {
    if (ended !== undefined) return;
    ended = state;
    asked.clear();
    tell();
  };
  const work = (): void => void setTimeout(() => finish(end(answers)), afterMs).unref();
  if (asked.size === 0) work();
  return {
    id: randomUUID(),
    asked,
    state: () => ({
      ...(ended ?? (asked.size > 0 ? { status: "input_required" } : { status: "working" })),
      createdAt,
      lastUpdatedAt,
    }),
    answer: (responses) => {
      if (asked.size === 0) return;
      for (const [key, response] of Object.entries(responses)) if (asked.delete(key)) answers[key] = response;
      if (asked.size === 0) work();
      tell();
    },
    cancel: () => finish({ status: "cancelled" }),
    changed: () => change.promise,
  };
}
