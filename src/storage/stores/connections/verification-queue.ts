import type { EntityManager } from "@mikro-orm/postgresql";
import type pg from "pg";
import type { Connection } from "../../../connections/connection.ts";
import {
  CLAIM_SECONDS,
  type DueVerification,
  VERIFICATION_PRIORITIES,
  type VerificationQueue,
} from "../../../connections/verification/verification-queue.ts";
import { runnerOf, runStatement } from "../run-statement.ts";

const { fresh, retry, recheck } = VERIFICATION_PRIORITIES;

/** Verifications of one account in one claim. */
const PER_ACCOUNT = 8;

/** When a key that was verified now is due again: in 24 hours, give or take a tenth, so that bursts disperse. */
const NEXT_DAY = "now() + interval '24 hours' * (0.9 + random() * 0.2)";
const CLAIMED_UNTIL = `now() + interval '${CLAIM_SECONDS} seconds'`;
/** The key that was verified may have been replaced meanwhile, and then has a verification to come. */
const VERIFIED_KEY = "account_id = $1 and connection_id = $2 and key_version = $3";

const ADD = {
  name: "verification_add",
  text: `insert into verification (account_id, connection_id, key_version, priority, due_at) values ($1, $2, $3, ${fresh}, now())
    on conflict (account_id, connection_id) do update
      set key_version = excluded.key_version, priority = excluded.priority, due_at = excluded.due_at, attempt = 0`,
};
const CLAIM = {
  name: "verification_claim",
  text: `with candidate as (
      select account_id, connection_id, due_at from verification
      where priority = $1 and due_at <= now() and account_id <> all ($2::text[])
      order by due_at limit $3::integer * 2 for update skip locked
    ),
    placed as (
      select account_id, connection_id, row_number() over (partition by account_id order by due_at) as place from candidate
    ),
    chosen as (select * from placed where place <= ${PER_ACCOUNT} order by place limit $3::integer)
    update verification set due_at = ${CLAIMED_UNTIL} from chosen
    where verification.account_id = chosen.account_id and verification.connection_id = chosen.connection_id
    returning verification.account_id, verification.connection_id, key_version, attempt`,
};
const ADD_MISSING = {
  name: "verification_add_missing",
  text: `insert into verification (account_id, connection_id, key_version, priority, due_at)
    select account_id, id, key_version, ${fresh}, now() from connection
    where verification_status = 'pending' and not exists (
      select from verification where verification.account_id = connection.account_id
        and verification.connection_id = connection.id and verification.key_version >= connection.key_version)
    on conflict (account_id, connection_id) do update
      set key_version = excluded.key_version, priority = excluded.priority, due_at = excluded.due_at, attempt = 0
      where verification.key_version < excluded.key_version`,
};
const RENEW = {
  name: "verification_renew",
  // What has ended meanwhile is due later than a claim lasts, and stays so.
  text: `update verification set due_at = ${CLAIMED_UNTIL}
    from unnest($1::text[], $2::integer[], $3::integer[]) as claimed (account_id, connection_id, key_version)
    where verification.account_id = claimed.account_id and verification.connection_id = claimed.connection_id
      and verification.key_version = claimed.key_version and due_at <= ${CLAIMED_UNTIL}`,
};
const COMPLETE = {
  name: "verification_complete",
  text: `update verification set due_at = ${NEXT_DAY}, priority = ${recheck}, attempt = 0 where ${VERIFIED_KEY}`,
};
const POSTPONE = {
  name: "verification_postpone",
  text: `update verification set due_at = now() + make_interval(secs => $4), attempt = $5, priority = greatest(priority, ${retry})
    where ${VERIFIED_KEY}`,
};
const HASTEN = {
  name: "verification_hasten",
  // One that runs or is about to tells the same.
  text: `update verification set due_at = now(), attempt = 0, priority = ${retry}
    where ${VERIFIED_KEY} and priority = ${recheck} and due_at > ${CLAIMED_UNTIL}`,
};

interface DueRow {
  readonly account_id: string;
  readonly connection_id: number;
  readonly key_version: number;
  readonly attempt: number;
}

type KeyOfConnection = Pick<Connection, "accountId" | "id" | "keyVersion">;

/** Has the connection's key verified as soon as the transaction commits, ahead of all rechecks. */
export async function enqueueVerification(
  em: EntityManager,
  { accountId, id, keyVersion }: KeyOfConnection,
): Promise<void> {
  await runStatement(runnerOf(em), { ...ADD, values: [accountId, id, keyVersion] });
}

/** Has a verified key verified again, once however many replicas ask. */
export async function hastenVerification(pool: pg.Pool, { accountId, id, keyVersion }: KeyOfConnection): Promise<void> {
  await runStatement(pool, { ...HASTEN, values: [accountId, id, keyVersion] });
}

/** The queue of verifications in PostgreSQL, a row a connection. */
export function createVerificationQueue(pool: pg.Pool): VerificationQueue {
  const keyOf = ({ accountId, connectionId, keyVersion }: DueVerification) => [accountId, connectionId, keyVersion];
  return {
    async claim(priority, limit, busy) {
      const { rows } = await runStatement<DueRow>(pool, { ...CLAIM, values: [priority, busy, limit] });
      return rows.map((row) => ({
        accountId: row.account_id,
        connectionId: row.connection_id,
        keyVersion: row.key_version,
        attempt: row.attempt,
      }));
    },
    async addMissing() {
      await runStatement(pool, { ...ADD_MISSING, values: [] });
    },
    async renew(claimed) {
      const values = [
        claimed.map(({ accountId }) => accountId),
        claimed.map(({ connectionId }) => connectionId),
        claimed.map(({ keyVersion }) => keyVersion),
      ];
      await runStatement(pool, { ...RENEW, values });
    },
    async complete(verification) {
      await runStatement(pool, { ...COMPLETE, values: keyOf(verification) });
    },
    async postpone(verification, afterSeconds, attempt) {
      await runStatement(pool, { ...POSTPONE, values: [...keyOf(verification), afterSeconds, attempt] });
    },
  };
}
