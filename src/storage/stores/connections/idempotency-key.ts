import { DomainError } from "../../../domain-error.ts";
import type { StatementRunner } from "../../reads.ts";
import { type CreatedConnection, KEY_LIFETIME_SECONDS, keyReused } from "../../../connections/create-once.ts";
import { runStatement } from "../run-statement.ts";

/** A key with what is kept of the request in place of its text. */
export interface HashedKey {
  readonly key: string;
  readonly requestHash: Buffer;
}

interface KeyRow {
  request_hash: Buffer;
  connection_id: number;
  server_type: string;
  name: string;
  status: CreatedConnection["status"];
  created_at: Date;
}

const FIND = {
  name: "idempotency_key_find",
  text: `select request_hash, connection_id, server_type, name, status, created_at from idempotency_key
    where account_id = $1 and key = $2 and expires_at > now()`,
};
/** A row that the sweep has not yet come to gives way. One that counts does not, and then nothing is inserted. */
const KEEP = {
  name: "idempotency_key_keep",
  text: `insert into idempotency_key as old (account_id, key, request_hash, connection_id, server_type, name, status,
      created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, now() + interval '${KEY_LIFETIME_SECONDS} seconds')
    on conflict (account_id, key) do update set request_hash = excluded.request_hash,
      connection_id = excluded.connection_id, server_type = excluded.server_type, name = excluded.name,
      status = excluded.status, created_at = excluded.created_at, expires_at = excluded.expires_at
      where old.expires_at <= now()`,
};

/** What was created under a key that still counts, or undefined. Throws `conflict` when it was another request. */
export async function findUnderKey(
  runner: StatementRunner,
  accountId: string,
  { key, requestHash }: HashedKey,
): Promise<CreatedConnection | undefined> {
  const { rows } = await runStatement<KeyRow>(runner, { ...FIND, values: [accountId, key] });
  const [row] = rows;
  if (row === undefined) return undefined;
  if (!row.request_hash.equals(requestHash)) throw keyReused();
  return {
    id: row.connection_id,
    serverType: row.server_type,
    name: row.name,
    status: row.status,
    createdAt: row.created_at,
    isRepeated: true,
  };
}

/** Keeps what was created, within the caller's transaction, which fails if somebody else was first. */
export async function keepUnderKey(
  runner: StatementRunner,
  accountId: string,
  { key, requestHash }: HashedKey,
  { id, serverType, name, status, createdAt }: CreatedConnection,
): Promise<void> {
  const values = [accountId, key, requestHash, id, serverType, name, status, createdAt];
  const { rowCount } = await runStatement(runner, { ...KEEP, values });
  if (rowCount === 0) throw new DomainError("conflict", "The same request is being answered at the moment. Try again.");
}
