import type pg from "pg";
import { transaction } from "../../transaction.ts";
import { runStatement } from "../run-statement.ts";

/** Connections taken by one transaction. */
const BATCH = 100;
/** Batches of one sweep; what is left then is taken by the next. */
const MAX_BATCHES = 20;

/** SQL for when a key that was verified now is due again: in 24 hours, give or take a tenth, so that crowds disperse. */
export const NEXT_VERIFICATION = "now() + interval '24 hours' * (0.9 + random() * 0.2)";

// A pending key has a verification of its own on the way.
const TAKE = {
  name: "connection_take_due",
  text: `update connection set verify_due_at = ${NEXT_VERIFICATION}
    where (account_id, id) in (
      select account_id, id from connection where verify_due_at <= now() and verification_status <> 'pending'
      order by verify_due_at limit ${BATCH} for update skip locked)
    returning account_id, id, key_version`,
};

/** A connection whose key is to be verified again. */
export interface DueConnection {
  readonly accountId: string;
  readonly connectionId: number;
  readonly keyVersion: number;
}

/**
 * Queues the verification of every key that is due and sets when it is next; answers how many there were. Safe on several
 * replicas at once: each connection is taken by one. It leaves `updated_at` alone, because nothing that its owner sees changes.
 */
export function createDueVerifications(deps: {
  readonly pool: pg.Pool;
  /** Puts the verification in the queue, within the transaction. */
  readonly enqueue: (client: pg.PoolClient, due: DueConnection) => Promise<void>;
}): () => Promise<number> {
  async function takeBatch(): Promise<number> {
    return transaction(deps.pool, async (client) => {
      const { rows } = await runStatement<{ account_id: string; id: number; key_version: number }>(client, {
        ...TAKE,
        values: [],
      });
      for (const { account_id: accountId, id: connectionId, key_version: keyVersion } of rows)
        await deps.enqueue(client, { accountId, connectionId, keyVersion });
      return rows.length;
    });
  }

  return async () => {
    let total = 0;
    for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
      const taken = await takeBatch();
      total += taken;
      if (taken < BATCH) break;
    }
    return total;
  };
}
