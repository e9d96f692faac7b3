import { parseJson, isJsonObject, type JsonObject } from "../../json.ts";
import { memberOf, withMembers } from "../../json-text.ts";

/** Nesting levels of an upstream's JSON. */
const MAX_DEPTH = 64;

const FINAL_STATUSES: readonly unknown[] = ["completed", "failed", "cancelled"];

/** Returns the task of an upstream under the id that clients know, with the time that the service keeps it. */
export function toClientTask(json: string, id: string, ttlMs: number): string {
  return withMembers(json, { taskId: JSON.stringify(id), ttlMs: String(ttlMs), requestState: undefined });
}

/** Returns a task as failed. */
export function asFailed(json: string, error: { readonly code: number; readonly message: string }): string {
  return withMembers(json, {
    status: '"failed"',
    statusMessage: JSON.stringify(error.message),
    lastUpdatedAt: JSON.stringify(new Date().toISOString()),
    error: JSON.stringify(error),
    result: undefined,
    inputRequests: undefined,
  });
}

/** Changes the result in a task, if it has one. */
export function withResult(json: string, change: (result: string) => string): string {
  const found = memberOf(json, "result");
  if (found === undefined) return json;
  const result = json.slice(found.start, found.end);
  const changed = change(result);
  return changed === result ? json : json.slice(0, found.start) + changed + json.slice(found.end);
}

export function parseTask(json: string): JsonObject {
  const value = parseJson(json, { maxDepth: MAX_DEPTH });
  return isJsonObject(value) ? value : {};
}

export function hasEnded({ status }: JsonObject): boolean {
  return FINAL_STATUSES.includes(status);
}
