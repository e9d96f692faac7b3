import { isJsonObject, type JsonObject } from "../../src/json.ts";
import { nameForm, planOf, type ServerTask, startTask, taskSupportOf } from "./task-tools.ts";

export const TASKS = "io.modelcontextprotocol/tasks";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const TTL_MS = 60_000;

/** The tasks extension of a server of 2026-07-28. */
export interface ModernTasks {
  /** Answers a request that concerns tasks; undefined for others. */
  answer(request: JsonObject): Promise<Response> | undefined;
  /** The tasks that were canceled, by id. */
  readonly canceled: readonly string[];
  readonly tasks: ReadonlyMap<string, ServerTask>;
}

/** `ttlMs` is what the server promises. */
export function createModernTasks(ttlMs: number | null = TTL_MS): ModernTasks {
  const tasks = new Map<string, ServerTask>();
  const canceled: string[] = [];

  async function call(name: string, params: JsonObject, declares: boolean): Promise<JsonObject> {
    const args = isJsonObject(params["arguments"]) ? params["arguments"] : {};
    const support = taskSupportOf(name);
    const { inputResponses } = params;
    const answered = isJsonObject(inputResponses) ? JSON.stringify(inputResponses["user_name"]) : undefined;
    if (support === "required" && !declares) return { error: missing() };
    if (name === "test_tool_with_task" && answered === undefined) {
      return result("input_required", { inputRequests: { user_name: nameForm("Who?") }, requestState: "round 1" });
    }
    const task = startTask(planOf(name, args, answered ?? ""));
    if (support === "forbidden" || !declares) {
      while (!["completed", "failed"].includes(String(task.state()["status"]))) await task.changed();
      const { result: done, error } = task.state();
      return isJsonObject(done) ? result("complete", done) : { error: error ?? null };
    }
    tasks.set(task.id, task);
    const { status, createdAt, lastUpdatedAt } = task.state();
    return result("task", {
      taskId: task.id,
      status,
      createdAt,
      lastUpdatedAt,
      ttlMs,
      pollIntervalMs: 500,
    } as JsonObject);
  }

  function ask(method: string, { taskId, inputResponses }: JsonObject): JsonObject {
    const task = tasks.get(String(taskId));
    if (task === undefined) return { error: { code: -32602, message: `Task ${String(taskId)} not found` } };
    if (method === "tasks/cancel") {
      canceled.push(task.id);
      task.cancel();
      return result("complete", {});
    }
    if (method === "tasks/update") {
      task.answer(isJsonObject(inputResponses) ? inputResponses : {});
      return result("complete", {});
    }
    const { result: done, ...state } = task.state();
    return result("complete", {
      ...state,
      taskId: task.id,
      ttlMs,
      pollIntervalMs: 500,
      ...(task.asked.size > 0 && { inputRequests: Object.fromEntries(task.asked) }),
      ...(isJsonObject(done) && { result: { resultType: "complete", ...done } }),
    } as JsonObject);
  }

  async function respond(id: unknown, method: string, params: JsonObject): Promise<Response> {
    const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
    const capabilities = isJsonObject(meta[CAPABILITIES]) ? meta[CAPABILITIES] : {};
    const { extensions } = capabilities;
    const declares = isJsonObject(extensions) && extensions[TASKS] !== undefined;
    let body: JsonObject;
    if (method === "tools/call") body = await call(String(params["name"]), params, declares);
    else body = declares ? ask(method, params) : { error: missing() };
    const isMissing = isJsonObject(body["error"]) && body["error"]["code"] === -32021;
    return Response.json({ jsonrpc: "2.0", id, ...body }, { status: isMissing ? 400 : 200 });
  }

  return {
    tasks,
    canceled,
    answer({ id, method, params }) {
      if (typeof method !== "string" || !isJsonObject(params)) return undefined;
      const isTasks = ["tasks/get", "tasks/update", "tasks/cancel"].includes(method);
      const isTool = method === "tools/call" && taskSupportOf(String(params["name"])) !== undefined;
      return isTasks || isTool ? respond(id, method, params) : undefined;
    },
  };
}

function result(resultType: string, fields: JsonObject): JsonObject {
  return { result: { resultType, ...fields } };
}

function missing(): JsonObject {
  const requiredCapabilities = { extensions: { [TASKS]: {} } };
  return { code: -32021, message: "Missing required client capability", data: { requiredCapabilities } };
}
