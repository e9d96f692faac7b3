import type { Connection } from "../../connections/connection.ts";

/** Maximum number of running upstream calls of one connection. */
const MAX_CALLS_PER_CONNECTION = 64;
/** Maximum number of running upstream calls of one account on one replica (DESIGN §8). */
const MAX_CALLS_PER_ACCOUNT = 100;
/** Maximum number of running upstream calls on one replica. */
const MAX_CALLS = 2_000;

type Called = Pick<Connection, "id" | "accountId" | "name">;

/**
 * Limits the running upstream calls per connection, per account and in total, so that neither a slow upstream nor a
 * busy account can block others. An account may start another call while it has fewer running calls than there are free
 * slots, so an account without running calls can always start one.
 */
export interface CallSlots {
  /** Takes a slot. Returns an error message for the caller when the connection or the account has no free slot. */
  take(connection: Called): string | undefined;
  /** Releases a slot that `take` took. */
  release(connection: Called): void;
}

export function createCallSlots(
  perConnection = MAX_CALLS_PER_CONNECTION,
  perAccount = MAX_CALLS_PER_ACCOUNT,
  inAll = MAX_CALLS,
): CallSlots {
  let total = 0;
  const ofConnections = new Map<number, number>();
  const ofAccounts = new Map<string, number>();
  return {
    take({ id, accountId, name }) {
      const ofConnection = ofConnections.get(id) ?? 0;
      if (ofConnection >= perConnection) return refusal(`the connection "${name}"`, perConnection);
      const ofAccount = ofAccounts.get(accountId) ?? 0;
      if (ofAccount >= perAccount) return refusal("the account", perAccount);
      if (ofAccount >= inAll - total) return BUSY;
      total += 1;
      ofConnections.set(id, ofConnection + 1);
      ofAccounts.set(accountId, ofAccount + 1);
      return undefined;
    },
    release({ id, accountId }) {
      total -= 1;
      decrease(ofConnections, id);
      decrease(ofAccounts, accountId);
    },
  };
}

function decrease<Key>(counts: Map<Key, number>, key: Key): void {
  const count = counts.get(key) ?? 0;
  if (count <= 1) counts.delete(key);
  else counts.set(key, count - 1);
}

const BUSY = "Too many calls of all accounts are in flight, and this account has its share. Try again in a moment.";

function refusal(holder: string, limit: number): string {
  return `Too many calls are in flight: ${holder} is limited to ${limit}. Wait for one to finish, then try again.`;
}
