import { expect } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import { TASKS } from "../conformance/modern-tasks.ts";
import { modernHeaders, modernMeta, type Wire } from "./mcp-wire.ts";
import { until } from "./until.ts";

/** What a client with tasks declares. */
export const TASK_CAPABILITIES = { elicitation: {}, extensions: { [TASKS]: {} } };
/** The error for a client that declares no tasks. */
export const TASKS_MISSING = { code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } };
export const UNKNOWN_TASK = { code: -32602, message: /Unknown task/ };

export interface TaskAnswer {
  readonly status: number;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string };
}

/** Sends a request of 2026-07-28 with the headers that repeat its name or task. */
export async function request(
  wire: Wire,
  method: string,
  params: JsonObject,
  capabilities: JsonObject = TASK_CAPABILITIES,
): Promise<TaskAnswer> {
  const _meta = modernMeta({ "io.modelcontextprotocol/clientCapabilities": capabilities });
  const name = String(params["taskId"] ?? params["name"]);
  const isPlain = /^[!-~]*$/.test(name);
  const mirrored = isPlain ? name : `=?base64?${Buffer.from(name).toString("base64")}?=`;
  const { status, last } = await wire.call(method, { ...params, _meta }, { headers: modernHeaders(method, mirrored) });
  return { status, ...last } as unknown as TaskAnswer;
}

export const callTool = (wire: Wire, name: string, args: JsonObject = {}, capabilities?: JsonObject) =>
  request(wire, "tools/call", { name, arguments: args }, capabilities);

export const askTask = (wire: Wire, method: "get" | "cancel", taskId: string, capabilities?: JsonObject) =>
  request(wire, `tasks/${method}`, { taskId }, capabilities);

export const answerTask = (wire: Wire, taskId: string, inputResponses: JsonObject) =>
  request(wire, "tasks/update", { taskId, inputResponses });

/** Calls a tool that must become a task, and returns the task's id. */
export async function startTask(wire: Wire, tool: string, args: JsonObject = {}): Promise<string> {
  const { result } = await callTool(wire, tool, args);
  expect(result).toMatchObject({ resultType: "task", taskId: expect.stringMatching(/^[\w-]{22}$/) });
  return String(result?.["taskId"]);
}

/** Waits until a task has a status, and returns its state. */
export async function taskReaches(wire: Wire, taskId: string, status: string): Promise<JsonObject> {
  let last: TaskAnswer | undefined;
  await until(
    async () => {
      last = await askTask(wire, "get", taskId);
      return last.result?.["status"] === status;
    },
    { what: `the task to be ${status}` },
  );
  return last?.result ?? {};
}
