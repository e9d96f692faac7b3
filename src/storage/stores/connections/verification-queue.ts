import { type EntityManager, LockMode, raw } from "@mikro-orm/postgresql";
import { type ExpressionBuilder, sql } from "kysely";
import type { Connection } from "../../../connections/connection.ts";
import {
  CLAIM_SECONDS,
  type DueVerification,
  VERIFICATION_PRIORITIES,
  type VerificationQueue,
} from "../../../connections/verification/verification-queue.ts";
import { VerificationEntity } from "../../entities/connections/verification.ts";
import { inTransaction, now, type Orm, type Tables, tablesOf, withEntities } from "../../orm.ts";

const { fresh, retry, recheck } = VERIFICATION_PRIORITIES;

/** Maximum number of verifications of one account per claim. */
const PER_ACCOUNT = 8;

/** When a verified key is due again: in 24 hours ± 10%, so that bursts disperse. */
const NEXT_DAY = "now() + interval '24 hours' * (0.9 + random() * 0.2)";
const NOW = sql<Date>`now()`;
const claimedUntil = () => raw("now() + make_interval(secs => ?)", [CLAIM_SECONDS]);

/** Replaces an earlier row of the connection. */
function replaced({
  ref,
}: ExpressionBuilder<Tables & { excluded: Tables["verification"] }, "verification" | "excluded">) {
  return {
    key_version: ref("excluded.key_version"),
    priority: ref("excluded.priority"),
    due_at: ref("excluded.due_at"),
    attempt: 0,
  };
}

type KeyOfConnection = Pick<Connection, "accountId" | "id" | "keyVersion">;

/** Makes the connection's key due for verification on commit, ahead of all rechecks. */
export async function enqueueVerification(
  em: EntityManager,
  { accountId, id, keyVersion }: KeyOfConnection,
): Promise<void> {
  const row = { account_id: accountId, connection_id: id, key_version: keyVersion, priority: fresh, due_at: NOW };
  await em.flush();
  await tablesOf(em)
    .insertInto("verification")
    .values(row)
    .onConflict((conflict) => conflict.columns(["account_id", "connection_id"]).doUpdateSet(replaced))
    .execute();
}

/** Schedules a recheck of a verified key, once even if several replicas request it. */
export async function hastenVerification(orm: Orm, { accountId, id, keyVersion }: KeyOfConnection): Promise<void> {
  // A verification that runs or is due makes the recheck unnecessary.
  const isWaiting = { accountId, connectionId: id, keyVersion, priority: recheck, dueAt: { $gt: claimedUntil() } };
  const change = { dueAt: now(), attempt: 0, priority: retry };
  await withEntities(orm, (em) => em.nativeUpdate(VerificationEntity, isWaiting, change));
}

/** Orders due verifications by taking turns between accounts, and omits those that exceed an account's share. */
function takeTurns<Due extends DueVerification>(due: readonly Due[]): readonly Due[] {
  const byAccount = Object.values(Object.groupBy(due, ({ accountId }) => accountId));
  const turns = Array.from({ length: PER_ACCOUNT }, (_, turn) => byAccount.flatMap((own) => own?.[turn] ?? []));
  return turns.flat();
}

/** The queue of verifications in PostgreSQL, one row per connection. */
export function createVerificationQueue(orm: Orm): VerificationQueue {
  /** If the verified key was replaced meanwhile, the verification of the new key stays in the queue. */
  const keyOf = ({ accountId, connectionId, keyVersion }: DueVerification) => ({ accountId, connectionId, keyVersion });
  return {
    claim: (priority, limit, busy) =>
      inTransaction(orm, async (em) => {
        const isDue = { priority, dueAt: { $lte: now() }, accountId: { $nin: [...busy] } };
        const some = {
          orderBy: { dueAt: "asc" },
          limit: limit * 2,
          lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE,
        } as const;
        const chosen = takeTurns(await em.find(VerificationEntity, isDue, some)).slice(0, limit);
        if (chosen.length === 0) return [];
        await em.nativeUpdate(VerificationEntity, { $or: chosen.map(keyOf) }, { dueAt: claimedUntil() });
        return chosen.map((each) => ({ ...keyOf(each), attempt: each.attempt }));
      }),
    async addMissing() {
      await withEntities(orm, (em) =>
        tablesOf(em)
          .insertInto("verification")
          .columns(["account_id", "connection_id", "key_version", "priority", "due_at"])
          .expression((pending) =>
            pending
              .selectFrom("connection")
              .select(["account_id", "id", "key_version", sql.lit(fresh).as("priority"), NOW.as("due_at")])
              .where("verification_status", "=", "pending")
              .where(({ not, exists, selectFrom }) => {
                const known = selectFrom("verification").select("connection_id");
                return not(
                  exists(
                    known
                      .whereRef("verification.account_id", "=", "connection.account_id")
                      .whereRef("verification.connection_id", "=", "connection.id")
                      .whereRef("verification.key_version", ">=", "connection.key_version"),
                  ),
                );
              }),
          )
          .onConflict((conflict) =>
            conflict
              .columns(["account_id", "connection_id"])
              .doUpdateSet(replaced)
              .whereRef("verification.key_version", "<", "excluded.key_version"),
          )
          .execute(),
      );
    },
    async renew(claimed) {
      // A verification that was completed meanwhile is due later than a claim lasts, and is left unchanged.
      const isRunning = { $or: claimed.map(keyOf), dueAt: { $lte: claimedUntil() } };
      await withEntities(orm, (em) => em.nativeUpdate(VerificationEntity, isRunning, { dueAt: claimedUntil() }));
    },
    async complete(verification) {
      const change = { dueAt: raw(NEXT_DAY), priority: recheck, attempt: 0 };
      await withEntities(orm, (em) => em.nativeUpdate(VerificationEntity, keyOf(verification), change));
    },
    async postpone(verification, afterSeconds, attempt) {
      const dueAt = raw("now() + make_interval(secs => ?)", [afterSeconds]);
      const change = { dueAt, attempt, priority: raw("greatest(priority, ?)", [retry]) };
      await withEntities(orm, (em) => em.nativeUpdate(VerificationEntity, keyOf(verification), change));
    },
  };
}
