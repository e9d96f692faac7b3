import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { Connection } from "../connection.ts";

/** The shortest time between two such verifications of one connection on one replica, in milliseconds. */
const PAUSE_MS = 300_000;
/** Connections remembered at most; forgetting one costs a verification that was not needed. */
const MAX_REMEMBERED = 20_000;

/** What it needs. */
export interface EarlyRecheckDeps {
  /** Makes the verification of the key due now. */
  readonly makeDue: (connection: Connection) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970; the system's clock unless told. */
  readonly now?: () => number;
}

/**
 * Has a key verified again before it is due, because its third party just refused it in a call: the refusal of one call may
 * concern that call alone, so it decides nothing itself. Never waits and never throws.
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
