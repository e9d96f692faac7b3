import type pg from "pg";
import { DomainError } from "../../../domain-error.ts";

/**
 * Locks the account's row for the rest of the transaction, under which what it may have a number of is counted. Fails with
 * `unauthenticated` when it is gone or disabled: then its tokens hold no longer.
 */
export async function lockAccount(client: pg.PoolClient, accountId: string): Promise<void> {
  const text = "select 1 from account where id = $1 and disabled_at is null for update";
  const { rowCount } = await client.query(text, [accountId]);
  if (rowCount === 0) throw new DomainError("unauthenticated", "Invalid or expired token.");
}
