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
/** How long opened secrets are kept for the next call, in milliseconds. Opening them costs as much as finding the tool. */
const OPENED_MS = 60_000;

/**
 * Connections in memory, dropped by the change feed, so that a tool call asks the database nothing. Secrets are kept as
 * sealed at rest; those in use stay open for a minute. While the feed is not healthy, every question goes to the database.
 */
export function createCachedView(deps: { store: ConnectionStore; feed: ChangeFeed }): ConnectionView {
  const { store, feed } = deps;
  const accounts = new LRUCache<string, readonly Connection[]>(atMost(MAX_ACCOUNTS));
  const sealed = new LRUCache<string, Uint8Array>(atMost(MAX_SECRETS));
  const targets = new LRUCache<Connection, Target>({ ...atMost(MAX_OPENED), ttl: OPENED_MS, ttlAutopurge: true });
  /** Grows with every change heard, so that a list read before a change is not kept after it. */
  let heard = 0;

  function forget(accountId: string): void {
    heard += 1;
    accounts.delete(accountId);
  }

  feed.onChange(({ accountId, event }) => {
    if (event !== "tools") forget(accountId);
  });
  feed.onGap(() => {
    heard += 1;
    accounts.clear();
  });

  async function load(accountId: string): Promise<readonly Connection[]> {
    const heardBefore = heard;
    const connections = await store.list(accountId);
    if (heard === heardBefore && feed.isHealthy()) accounts.set(accountId, connections);
    return connections;
  }

  function ofAccount(accountId: string): readonly Connection[] | Promise<readonly Connection[]> {
    const known = feed.isHealthy() ? accounts.get(accountId) : undefined;
    return known ?? load(accountId);
  }

  async function sealedOf(connection: Connection): Promise<Uint8Array | undefined> {
    const key = `${connection.id}:${connection.keyVersion}`;
    const known = sealed.get(key);
    if (known !== undefined) return known;
    const bytes = await store.sealedSecrets(connection.accountId, connection.id, connection.keyVersion);
    if (bytes !== undefined) sealed.set(key, bytes);
    return bytes;
  }

  function opened(connection: Connection, bytes: Uint8Array | undefined): Target {
    const { accountId, id, keyVersion, configuration, authMethod } = connection;
    const secrets = bytes === undefined ? {} : store.openSecrets(accountId, id, bytes);
    const whole = { ...configuration, ...secrets };
    const target = { accountId, connectionId: id, keyVersion, configuration: whole, authMethod };
    targets.set(connection, target);
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
      const bytes = sealed.get(`${connection.id}:${connection.keyVersion}`);
      if (bytes !== undefined) return opened(connection, bytes);
      return sealedOf(connection).then((loaded) => opened(connection, loaded));
    },
  };
}
