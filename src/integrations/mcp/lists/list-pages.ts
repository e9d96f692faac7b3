import type { Logger } from "pino";
import type { JsonValue } from "../../../json.ts";
import type { Requester } from "../sessions/request.ts";
import type { UpstreamSession } from "../sessions/session.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";

/** Further pages are ignored. */
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
  /** Adds one item; returns false when the list is full. */
  readonly add: (item: JsonValue) => boolean;
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
): Promise<{ readonly bytes: number }> {
  const { endpoint } = session;
  const { deadlineMs, signal } = options;
  const seen = new Set<string>();
  let cursor: string | undefined;
  let bytes = 0;
  for (let page = 0; page < (options.maxPages ?? MAX_PAGES); page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const reply = await requester.request(session, { method, params, deadlineMs, signal }).catch((error: unknown) => {
      if (error instanceof UpstreamFailure && error.kind === "rpc" && error.code === -32601) return undefined;
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
    const isFull = listed.map(add).includes(false);
    bytes += reply.bytes;
    const next = reply.result.nextCursor;
    if (typeof next !== "string" || next === "") break;
    if (seen.has(next) || isFull || bytes > maxBytes) {
      log.warn({ host: endpoint.label, method, bytes }, "list of an MCP server truncated");
      break;
    }
    seen.add(next);
    cursor = next;
  }
  return { bytes };
}

const LIST_WORDS: Readonly<Record<string, string>> = {
  "tools/list": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resource templates",
  "prompts/list": "prompts",
};
