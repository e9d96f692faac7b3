import type { ChangeFeed } from "../change-feed.ts";
import type { Connection } from "../connection.ts";
import type { ConnectionStore } from "../connection-store.ts";

/** Database reads after a change. All watchers of an account share each read. */
export interface SharedReads {
  /** Returns the current state of a connection. */
  find(id: number): Promise<Connection | undefined>;
  /** Returns the current state of all connections. */
  list(): Promise<readonly Connection[]>;
  /** Must be called once when the watch ends. */
  leave(): void;
}

interface AccountReads {
  watchers: number;
  readonly found: Map<number, Promise<Connection | undefined>>;
  listed: Promise<readonly Connection[]> | undefined;
  readonly stop: () => void;
}

/**
 * Returns a function that joins an account's readers. A read is cached until its data changes, so it also serves a
 * slow watcher. A watcher must join before it subscribes to the feed, so that the cache is cleared before it reads.
 */
export function createSharedReads(
  connections: Pick<ConnectionStore, "find" | "list">,
  feed: ChangeFeed,
): (accountId: string) => SharedReads {
  const accounts = new Map<string, AccountReads>();

  function open(accountId: string): AccountReads {
    const found: AccountReads["found"] = new Map();
    const stops = [
      feed.onChange((event) => {
        if (event.accountId !== accountId) return;
        found.delete(event.connectionId);
        reads.listed = undefined;
      }),
      feed.onGap(() => {
        found.clear();
        reads.listed = undefined;
      }),
    ];
    const stop = (): void => {
      for (const each of stops) each();
    };
    const reads: AccountReads = { watchers: 0, found, listed: undefined, stop };
    accounts.set(accountId, reads);
    return reads;
  }

  return (accountId) => {
    const reads = accounts.get(accountId) ?? open(accountId);
    reads.watchers += 1;
    return {
      find(id) {
        const known = reads.found.get(id);
        if (known !== undefined) return known;
        const finding = connections.find(accountId, id);
        reads.found.set(id, finding);
        finding.catch(() => {
          if (reads.found.get(id) === finding) reads.found.delete(id);
        });
        return finding;
      },
      list() {
        if (reads.listed !== undefined) return reads.listed;
        const listing = connections.list(accountId);
        reads.listed = listing;
        listing.catch(() => {
          if (reads.listed === listing) reads.listed = undefined;
        });
        return listing;
      },
      leave() {
        reads.watchers -= 1;
        if (reads.watchers > 0) return;
        reads.stop();
        accounts.delete(accountId);
      },
    };
  };
}
