import { LRUCache } from "lru-cache";
import { atMost } from "../at-most.ts";
import type { Target } from "../integrations/target.ts";
import type { Connection } from "./connection.ts";
import type { ConnectionStore } from "./connection-store.ts";
import type { ConnectionView } from "./connection-view.ts";
import type { ChangeFeed } from "./change-feed.ts";

const MAX_ACCOUNTS = 10_000;
const MAX_SECRETS = 50_000;
const MAX_OPENED = 1_000;
/**
 * How long secrets, encrypted or decrypted, are cached, in milliseconds. A secret that is replaced in the database
 * without a change event takes effect after this time. Decryption costs as much as finding the tool.
 */
const SECRETS_MS = 60_000;

/**
 * Caches connections until the change feed reports a change, so that a tool call needs no query. Secrets are cached
 * for a minute: decrypted while in use, otherwise encrypted. While the feed is unhealthy, every read goes to the
 * database.
 */
export function createCachedView(deps: {
  store: Pick<ConnectionStore, "find" | "list" | "sealedSecrets" | "openSecrets">;
  feed: ChangeFeed;
  /** Monotonic milliseconds; defaults to the process clock. */
  now?: () => number;
}): ConnectionView {
  const { store, feed, now } = deps;
  const clock = now === undefined ? {} : { perf: { now }, ttlResolution: 0 };
  const accounts = new LRUCache<string, readonly Connection[]>(atMost(MAX_ACCOUNTS));
  const sealed = new LRUCache<string, Uint8Array>({ ...atMost(MAX_SECRETS), ttl: SECRETS_MS, ...clock });
  const targets = new LRUCache<Connection, Target>({
    ...atMost(MAX_OPENED),
    ttl: SECRETS_MS,
    ttlAutopurge: true,
    ...clock,
  });
  /** Incremented by each change, so that a list read before a change is not cached after it. */
  let changeCount = 0;

  function forget(accountId: string): void {
    changeCount += 1;
    accounts.delete(accountId);
  }

  feed.onChange(({ accountId, event }) => {
    if (event !== "tools") forget(accountId);
  });
  feed.onGap(() => {
    changeCount += 1;
    accounts.clear();
  });

  async function load(accountId: string): Promise<readonly Connection[]> {
    const heardBefore = changeCount;
    const connections = await store.list(accountId);
    if (changeCount === heardBefore && feed.isHealthy()) accounts.set(accountId, connections);
    return connections;
  }

  function ofAccount(accountId: string): readonly Connection[] | Promise<readonly Connection[]> {
    const known = feed.isHealthy() ? accounts.get(accountId) : undefined;
    return known ?? load(accountId);
  }

  async function read(connection: Connection): Promise<Target> {
    const { accountId, id, keyVersion } = connection;
    const bytes = await store.sealedSecrets(accountId, id, keyVersion);
    if (bytes === undefined && connection.hasCredential) {
      const current = await store.find(accountId, id);
      if (current !== undefined && current.keyVersion !== keyVersion) {
        // The key was replaced without a change event.
        forget(accountId);
        return read(current);
      }
    }
    if (bytes !== undefined) sealed.set(keyOf(connection), bytes);
    return opened(connection, bytes, SECRETS_MS);
  }

  function opened(connection: Connection, bytes: Uint8Array | undefined, ttl: number): Target {
    const { accountId, id, keyVersion, configuration, authMethod } = connection;
    const secrets = bytes === undefined ? {} : store.openSecrets(accountId, id, bytes);
    const whole = { ...configuration, ...secrets };
    const target = { accountId, connectionId: id, keyVersion, configuration: whole, authMethod };
    targets.set(connection, target, { ttl });
    return target;
  }

  return {
    ofAccount,
    forget,
    find(accountId, id) {
      const connections = ofAccount(accountId);
      if (connections instanceof Promise) return connections.then((all) => all.find((one) => one.id === id));
      return connections.find((one) => one.id === id);
    },
    target(connection) {
      const known = targets.get(connection);
      if (known !== undefined) return known;
      const key = keyOf(connection);
      const bytes = sealed.get(key);
      return bytes === undefined
        ? read(connection)
        : opened(connection, bytes, Math.max(1, sealed.getRemainingTTL(key)));
    },
  };
}

function keyOf({ id, keyVersion }: Connection): string {
  return `${id}:${keyVersion}`;
}
