import { createHash } from "node:crypto";
import type { WarnLog } from "../../log.ts";
import type { Principal } from "../../identity/principal.ts";
import type { ChangeFeed } from "../../connections/change-feed.ts";
import type { SettingsFeed } from "../../connections/settings/settings-view.ts";
import { printCanonicalTool, type ToolDefinition } from "../../integrations/tool.ts";
import type { McpSession } from "../sessions/session.ts";
import type { ListedTool } from "./session-tools.ts";

/** How long changes are collected before lists are compared, in milliseconds. */
const DEBOUNCE_MS = 100;
/** How often watched lists are read so that stale ones are fetched again, in milliseconds. */
const CHECK_EVERY_MS = 30_000;

export interface Watcher {
  readonly principal: Principal;
  /** Returns the current session; undefined in a protocol without sessions. */
  readonly session: () => McpSession | undefined;
  /** Receives the digest of the new list. Must not throw. */
  readonly onChange: (digest: string) => void;
}

/** Detects changes of the tools that a principal sees, on every replica. */
export interface ToolChanges {
  /** Returns a text that changes when the visible tools change. */
  digest(principal: Principal, session: McpSession | undefined): Promise<string>;
  /** Calls `watcher.onChange` when the tools differ from `digest`. Returns a function that stops watching. */
  watch(watcher: Watcher, digest: string): () => void;
  close(): void;
}

/** Compares digests after each change in the account, so that a watcher is notified only if its own list differs. */
export function createToolChanges(deps: {
  readonly tools: {
    all(principal: Principal, session: McpSession | undefined): readonly ListedTool[] | Promise<readonly ListedTool[]>;
  };
  readonly feed: ChangeFeed;
  /** The setting `tool_search` changes what is listed. */
  readonly settingsFeed: Pick<SettingsFeed, "onChange">;
  readonly log: WarnLog;
}): ToolChanges {
  const byAccount = new Map<string, Map<Watcher, string>>();
  const scheduled = new Map<string, NodeJS.Timeout>();
  const digests = new WeakMap<readonly ListedTool[], string>();
  const definitionDigests = new WeakMap<ToolDefinition, string>();

  function digestOfDefinition(definition: ToolDefinition): string {
    let known = definitionDigests.get(definition);
    if (known === undefined) {
      // Two replicas may know the same definition with its keys in another order.
      known = createHash("sha256").update(printCanonicalTool(definition)).digest("base64");
      definitionDigests.set(definition, known);
    }
    return known;
  }

  async function digest(principal: Principal, session: McpSession | undefined): Promise<string> {
    const listed = await deps.tools.all(principal, session);
    let known = digests.get(listed);
    if (known === undefined) {
      const hash = createHash("sha256");
      for (const { name, account = "", definition } of listed)
        hash.update(`${name}\n${account}\n${digestOfDefinition(definition)}\n`);
      known = hash.digest("base64url").slice(0, 22);
      digests.set(listed, known);
    }
    return known;
  }

  async function check(watcher: Watcher, watchers: Map<Watcher, string>): Promise<void> {
    try {
      const now = await digest(watcher.principal, watcher.session());
      const before = watchers.get(watcher);
      if (before === undefined || before === now) return;
      watchers.set(watcher, now);
      watcher.onChange(now);
    } catch (error) {
      deps.log.warn({ err: error }, "could not check tools for changes");
    }
  }

  function checkSoon(accountId: string): void {
    if (!byAccount.has(accountId) || scheduled.has(accountId)) return;
    const timer = setTimeout(() => {
      scheduled.delete(accountId);
      const watchers = byAccount.get(accountId);
      if (watchers !== undefined) for (const watcher of watchers.keys()) void check(watcher, watchers);
    }, DEBOUNCE_MS);
    scheduled.set(accountId, timer);
  }

  function checkAll(): void {
    for (const accountId of byAccount.keys()) checkSoon(accountId);
  }

  const stopChanges = deps.feed.onChange(({ accountId }) => checkSoon(accountId));
  const stopSettings = deps.settingsFeed.onChange(checkSoon);
  const stopGaps = deps.feed.onGap(checkAll);
  const timer = setInterval(checkAll, CHECK_EVERY_MS).unref();

  return {
    digest,
    watch(watcher, seen) {
      const { accountId } = watcher.principal;
      const watchers = byAccount.get(accountId) ?? new Map<Watcher, string>();
      byAccount.set(accountId, watchers);
      watchers.set(watcher, seen);
      // Detects changes between the computation of the digest and now.
      checkSoon(accountId);
      return () => {
        watchers.delete(watcher);
        if (watchers.size === 0 && byAccount.get(accountId) === watchers) byAccount.delete(accountId);
      };
    },
    close() {
      stopChanges();
      stopSettings();
      stopGaps();
      clearInterval(timer);
      for (const waiting of scheduled.values()) clearTimeout(waiting);
    },
  };
}
