import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json.ts";
import { nameForm, planOf, type ServerTask, startTask, taskSupportOf } from "./task-tools.ts";

const ENDED: readonly unknown[] = ["completed", "failed", "cancelled"];

/** The experimental tasks of a server of 2025-11-25. */
export interface SessionTasks {
  /** Answers a message that concerns tasks; undefined for others. */
  answer(message: JsonObject, signal: AbortSignal): Promise<Response> | Response | undefined;
  /** The tasks that were canceled, by id. */
  readonly canceled: readonly string[];
}

export const SESSION_TASKS_CAPABILITY = { requests: { tools: { call: {} } }, cancel: {}, list: {} };

type Send = (message: JsonObject) => void;

export function createSessionTasks(): SessionTasks {
  const tasks = new Map<string, ServerTask>();
  const canceled: string[] = [];
  const waiting = new Map<string, (result: JsonObject) => void>();
  let asked = 0;

  /** Sends a request to the client on a stream and waits for its answer, which arrives as a separate message. */
  function ask(send: Send, { method, params }: JsonObject): Promise<JsonObject> {
    const id = `ask-${(asked += 1)}`;
    send({ jsonrpc: "2.0", id, method: method ?? "", params: params ?? {} });
    return new Promise((resolve) => waiting.set(id, resolve));
  }

  async function call(params: JsonObject, send: Send): Promise<JsonObject> {
    const name = String(params["name"]);
    const args = isJsonObject(params["arguments"]) ? params["arguments"] : {};
    const support = taskSupportOf(name);
    const isTask = isJsonObject(params["task"]);
    if (support === "required" && !isTask) return { error: { code: -32601, message: `${name} is a task.` } };
    const person = name === "test_tool_with_task" ? JSON.stringify(await ask(send, nameForm("Who?"))) : "";
    const task = startTask(planOf(name, args, person));
    if (!isTask) return { result: (await end(task))["result"] ?? null };
    tasks.set(task.id, task);
    return { result: { task: stateOf(task) } };
  }

  /** Blocks until the task has ended, and asks what it needs. */
  async function result(task: ServerTask, send: Send): Promise<JsonObject> {
    const pending = [...task.asked].map(async ([key, request]) => task.answer({ [key]: await ask(send, request) }));
    void Promise.all(pending);
    const { status, result: done, error } = await end(task);
    if (status === "cancelled") return { error: { code: -32603, message: "The task has no result." } };
    const _meta = { "io.modelcontextprotocol/related-task": { taskId: task.id } };
    return isJsonObject(done) ? { result: { ...done, _meta } } : { error: error ?? null };
  }

  function cancel(task: ServerTask): JsonObject {
    if (ENDED.includes(task.state()["status"])) return { error: { code: -32602, message: "The task has ended." } };
    canceled.push(task.id);
    task.cancel();
    return { result: stateOf(task) };
  }

  async function respond(id: JsonValue, method: string, params: JsonObject, send: Send): Promise<void> {
    const task = tasks.get(String(params["taskId"]));
    let body: JsonObject;
    if (method === "tools/call") body = await call(params, send);
    else if (task === undefined) body = { error: { code: -32602, message: "Task not found" } };
    else if (method === "tasks/get") body = { result: stateOf(task) };
    else body = method === "tasks/cancel" ? cancel(task) : await result(task, send);
    send({ jsonrpc: "2.0", id, ...body });
  }

  function stream(work: (send: Send) => Promise<void>, signal: AbortSignal): Response {
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      start: async (controller) => {
        const send: Send = (message) => {
          if (!signal.aborted) controller.enqueue(encoder.encode(`data: ${JSON.stringify(message)}\n\n`));
        };
        await work(send);
        if (!signal.aborted) controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  return {
    canceled,
    answer({ id = null, method, params, result: answered }, signal) {
      if (typeof method !== "string") {
        const settle = waiting.get(String(id));
        waiting.delete(String(id));
        settle?.(isJsonObject(answered) ? answered : {});
        return settle === undefined ? undefined : new Response(null, { status: 202 });
      }
      if (!isJsonObject(params)) return undefined;
      const isTool = method === "tools/call" && taskSupportOf(String(params["name"])) !== undefined;
      if (!isTool && !["tasks/get", "tasks/result", "tasks/cancel"].includes(method)) return undefined;
      return stream((send) => respond(id, method, params, send), signal);
    },
  };
}

function stateOf(task: ServerTask): JsonObject {
  const { result: _result, error: _error, ...state } = task.state();
  return { ...state, taskId: task.id, ttl: 60_000, pollInterval: 500 };
}

async function end(task: ServerTask): Promise<JsonObject> {
  while (!ENDED.includes(task.state()["status"])) await task.changed();
  return task.state();
}
