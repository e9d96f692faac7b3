import type { Logger } from "pino";
import { printJson, type JsonValue } from "../../../json.ts";
import { elementsOf, memberOf } from "../../../json-text.ts";
import { METHOD_NOT_FOUND } from "../../rpc-error.ts";
import type { Requester } from "../sessions/request.ts";
import type { UpstreamSession } from "../sessions/session.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";

const MAX_PAGES = 200;

/** `deadlineMs` is on the clock of `performance.now()`. */
export interface ListOptions {
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  readonly maxPages?: number;
}

export interface ListOf {
  readonly method: string;
  /** The result's property that holds the list. */
  readonly key: string;
  readonly maxBytes: number;
  /** Adds one item, given as value and as text; returns false when the list is full. */
  readonly add: (item: JsonValue, text: string) => boolean;
}

export interface ListedPages {
  readonly bytes: number;
  /** The shortest time to live of a page in milliseconds, if the server states one (2026-07-28). */
  readonly ttlMs: number | undefined;
  /** Whether the server has more items than a limit allows. */
  readonly isTruncated: boolean;
}

/**
 * Reads a list page by page. A server that does not know the method has an empty list. Throws UpstreamFailure, or the
 * signal's reason.
 */
export async function listPages(
  { requester, log }: { requester: Requester; log: Logger },
  session: UpstreamSession,
  { method, key, maxBytes, add }: ListOf,
  options: ListOptions,
): Promise<ListedPages> {
  const { endpoint } = session;
  const { deadlineMs, signal, maxPages = MAX_PAGES } = options;
  const seen = new Set<string>();
  let cursor: string | undefined;
  let bytes = 0;
  let ttlMs: number | undefined;
  let isTruncated = false;
  for (let page = 0; page < maxPages; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const reply = await requester.request(session, { method, params, deadlineMs, signal }).catch((error: unknown) => {
      if (error instanceof UpstreamFailure && error.kind === "rpc" && error.code === METHOD_NOT_FOUND) return undefined;
      throw error;
    });
    if (reply === undefined) break;
    const listed = reply.result[key];
    if (!Array.isArray(listed)) {
      throw new UpstreamFailure(
        "not_mcp",
        `The MCP server at ${endpoint.label} answered ${method} without a list of ${LIST_WORDS[method] ?? "items"}.`,
      );
    }
    const texts = textsOf(reply.text(), key);
    const isFull = listed.map((item, index) => add(item, texts[index] ?? printJson(item))).includes(false);
    bytes += reply.bytes;
    ttlMs = shorter(ttlMs, reply.result.ttlMs);
    const next = reply.result.nextCursor;
    const isLast = typeof next !== "string" || next === "";
    isTruncated = isFull || (!isLast && (bytes > maxBytes || page === maxPages - 1));
    // A server that repeats its cursor has no further items.
    const isEnd = isTruncated || isLast || seen.has(next);
    if (isEnd && !isLast && options.maxPages === undefined)
      log.warn({ host: endpoint.label, method, bytes }, "list of an MCP server truncated");
    if (isEnd) break;
    seen.add(next);
    cursor = next;
  }
  return { bytes, ttlMs, isTruncated };
}

function textsOf(result: string, key: string): readonly string[] {
  const list = memberOf(result, key);
  return list === undefined ? [] : elementsOf(result, list.start).map(({ start, end }) => result.slice(start, end));
}

function shorter(ttlMs: number | undefined, stated: JsonValue | undefined): number | undefined {
  if (typeof stated !== "number" || !(stated >= 0)) return ttlMs;
  return ttlMs === undefined ? stated : Math.min(ttlMs, stated);
}

const LIST_WORDS: Readonly<Record<string, string>> = {
  "tools/list": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resource templates",
  "prompts/list": "prompts",
  "skills/list": "skills",
};
