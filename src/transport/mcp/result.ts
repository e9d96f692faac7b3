import type { JsonObject } from "../../json.ts";
import { memberOf, withMembers } from "../../json-text.ts";

const SERVER_INFO = "io.modelcontextprotocol/serverInfo";

/** A result before the fields of a protocol revision are added. */
export interface RpcResult {
  /** The result as JSON, without the fields that 2026-07-28 adds. */
  readonly text: string;
  /** How long clients may cache the result, in milliseconds; undefined for a result that is never cached. */
  readonly ttlMs: number | undefined;
  /** Default: `complete`. */
  readonly resultType?: ResultType;
}

/** How the client must read a result of 2026-07-28. */
export type ResultType = "complete" | "input_required" | "task";

export function toResult(members: JsonObject, ttlMs?: number): RpcResult {
  return { text: JSON.stringify(members), ttlMs };
}

/** Adds the fields that 2026-07-28 requires: result type, time to live and server info. */
export function createModernResult(serverInfo: JsonObject): (result: RpcResult) => string {
  const own = `"${SERVER_INFO}":${JSON.stringify(serverInfo)}`;
  return ({ text, ttlMs, resultType = "complete" }) => {
    const hints = ttlMs === undefined ? "" : `"ttlMs":${ttlMs},"cacheScope":"private",`;
    const meta = text.includes('"_meta"') ? memberOf(text, "_meta") : undefined;
    if (meta === undefined) return `{"resultType":"${resultType}",${inner(text)}${hints}"_meta":{${own}}}`;
    const merged = withMembers(text.slice(meta.start, meta.end), { [SERVER_INFO]: undefined });
    const marked = withMembers(text, { _meta: `{${inner(merged)}${own}}` });
    return `{"resultType":"${resultType}",${hints}${marked.slice(1)}`;
  };
}

/** The members of an object, each with a comma after it. */
function inner(text: string): string {
  const members = text.slice(1, -1);
  return /\S/.test(members) ? `${members},` : "";
}
