import { type Principal, reaches, reachesAll } from "../../identity/principal.ts";
import { DomainError } from "../../domain-error.ts";
import type { Connection } from "../connection.ts";
import type { ConnectionStore } from "../connection-store.ts";
import type { ChangeFeed } from "../change-feed.ts";
import { connectionNotFound, reachableId } from "../../identity/server-id.ts";
import { createSharedReads, type SharedReads } from "./shared-reads.ts";
import type { StreamSlots } from "./stream-slots.ts";

export type WatchEvent =
  | { readonly event: "snapshot"; readonly connections: readonly Connection[] }
  | { readonly event: "updated"; readonly connection: Connection }
  | { readonly event: "deleted"; readonly connectionId: number }
  | { readonly event: "heartbeat" };

export interface ConnectionWatchDeps {
  readonly connections: ConnectionStore;
  readonly feed: ChangeFeed;
  /** Shared with other streams of the account. */
  readonly slots: StreamSlots;
  /** Whether the token is neither expired nor revoked. */
  readonly isValid: (principal: Principal) => boolean | Promise<boolean>;
}

/** Watches one connection, or without `serverId` all visible ones, until `signal` aborts. */
export type Watch = (
  principal: Principal,
  serverId: string | undefined,
  signal: AbortSignal,
) => AsyncIterable<WatchEvent>;

const HEARTBEAT_MS = 15_000;
/** The interval between token checks. */
const TOKEN_CHECK_MS = 1_000;

/**
 * Yields a snapshot first, then each change, and a heartbeat every 15 s. Throws `exhausted` if the account has too
 * many streams open and `unauthenticated` when the token expires or is revoked.
 */
export function createWatch(deps: ConnectionWatchDeps): Watch {
  const joinReads = createSharedReads(deps.connections, deps.feed);

  async function look(
    principal: Principal,
    id: number | undefined,
    reads: Pick<SharedReads, "find" | "list">,
  ): Promise<readonly Connection[]> {
    if (id === undefined) {
      const all = await reads.list();
      return reachesAll(principal) ? all : all.filter((connection) => reaches(principal, connection.id));
    }
    const connection = await reads.find(id);
    return connection === undefined ? [] : [connection];
  }

  return async function* watch(principal, serverId, signal) {
    const { accountId } = principal;
    const id = serverId === undefined ? principal.connectionId : reachableId(principal, serverId);
    const single = id !== undefined;
    if (id !== undefined && !reaches(principal, id)) throw connectionNotFound(serverId ?? String(id));
    const leaveSlot = deps.slots.take(accountId);
    const reads = joinReads(accountId);
    // The first snapshot is not shared: a change made just before it may not have arrived yet.
    const ownReads = {
      find: (wanted: number) => deps.connections.find(accountId, wanted),
      list: () => deps.connections.list(accountId),
    };
    // Subscribe before reading the snapshot, so that no change is missed between them.
    const isWatched = (changed: number): boolean => (id === undefined ? reaches(principal, changed) : changed === id);
    const changes = collectChanges(deps.feed, accountId, isWatched, signal);
    try {
      const isForeign = serverId !== undefined && id === undefined;
      const watched = isForeign ? [] : await look(principal, id, ownReads);
      if (serverId !== undefined && watched.length === 0) throw connectionNotFound(serverId);
      yield { event: "snapshot", connections: watched };
      let lastEventAt = Date.now();
      for (;;) {
        await changes.wait(Math.min(TOKEN_CHECK_MS, lastEventAt + HEARTBEAT_MS - Date.now()));
        if (signal.aborted) return;
        if (!(await deps.isValid(principal))) throw new DomainError("unauthenticated", "Invalid or expired token.");
        const taken = changes.take();
        if (taken.missed) {
          yield { event: "snapshot", connections: await look(principal, id, reads) };
          lastEventAt = Date.now();
        }
        for (const changed of taken.ids) {
          const connection = await reads.find(changed);
          yield connection === undefined
            ? { event: "deleted", connectionId: changed }
            : { event: "updated", connection };
          lastEventAt = Date.now();
          if (connection === undefined && single) return;
        }
        if (Date.now() - lastEventAt >= HEARTBEAT_MS) {
          yield { event: "heartbeat" };
          lastEventAt = Date.now();
        }
      }
    } finally {
      changes.stop();
      reads.leave();
      leaveSlot();
    }
  };
}

interface CollectedChanges {
  /** Resolves at the next change, when the signal aborts, or after `ms`. */
  wait(ms: number): Promise<void>;
  /** Returns the ids that changed since the last call, each once, so that a slow reader uses no memory. */
  take(): { readonly ids: readonly number[]; readonly missed: boolean };
  stop(): void;
}

function collectChanges(
  feed: ChangeFeed,
  accountId: string,
  isWatched: (id: number) => boolean,
  signal: AbortSignal,
): CollectedChanges {
  const changed = new Set<number>();
  let missed = false;
  let wake = (): void => {};
  const stopChanges = feed.onChange((event) => {
    if (event.accountId !== accountId || event.event === "tools" || event.event === "pins") return;
    if (!isWatched(event.connectionId)) return;
    changed.add(event.connectionId);
    wake();
  });
  const stopGaps = feed.onGap(() => {
    missed = true;
    wake();
  });
  const onAbort = (): void => wake();
  signal.addEventListener("abort", onAbort);
  return {
    async wait(ms) {
      if (changed.size > 0 || missed || signal.aborted) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.max(0, ms));
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
    take() {
      const taken = { ids: [...changed], missed };
      changed.clear();
      missed = false;
      return taken;
    },
    stop() {
      stopChanges();
      stopGaps();
      signal.removeEventListener("abort", onAbort);
    },
  };
}
