import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { Connection } from "../connection.ts";

/** The shortest time between two early rechecks of a connection on one replica, in milliseconds. */
const PAUSE_MS = 300_000;
/** Maximum number of remembered connections. Evicting one may cause an extra verification. */
const MAX_REMEMBERED = 20_000;

export interface EarlyRecheckDeps {
  /** Schedules the verification of the key immediately. */
  readonly makeDue: (connection: Connection) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970; defaults to the system clock. */
  readonly now?: () => number;
}

/**
 * Schedules an early verification of a key that an upstream rejected in a call. The rejection may concern only that
 * call, so it does not change the status itself. Returns at once and never throws.
 */
export function createEarlyRecheck({
  makeDue,
  onError,
  now = Date.now,
}: EarlyRecheckDeps): (connection: Connection) => void {
  const rechecked = new LRUCache<string, number>(atMost(MAX_REMEMBERED));
  return (connection) => {
    const { id, keyVersion, verificationStatus } = connection;
    if (verificationStatus !== "verified") return;
    const key = `${id}/${keyVersion}`;
    const last = rechecked.get(key);
    if (last !== undefined && now() - last < PAUSE_MS) return;
    rechecked.set(key, now());
    makeDue(connection).catch((error: unknown) => {
      rechecked.delete(key);
      onError(error);
    });
  };
}
