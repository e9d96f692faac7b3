import { sql } from "kysely";
import type { TaskState, TaskStore } from "../../../runtime/tasks/task-store.ts";
import { McpTaskEntity } from "../../entities/sessions/mcp-task.ts";
import { inTransaction, now, type Orm, tablesOf, withEntities } from "../../orm.ts";
import type { SealedPlace, Sealer } from "../../sealing.ts";
import { fieldsOf, optionalText, textOf } from "../connections/sealed-terms.ts";
import { lockAccount } from "../identity/account-lock.ts";

/** The location to which encryption binds the state of a task. */
export function taskPlace(accountId: string, id: string): SealedPlace {
  return { table: "mcp_task", column: "sealed_state", accountId, rowId: id };
}

/** A replica that follows a task records that every 20 seconds. */
const ATTENDED_UNTIL = sql<Date>`now() + interval '60 seconds'`;

/** Tasks in PostgreSQL. */
export function createTaskStore(orm: Orm, sealer: Sealer): TaskStore {
  const seal = (accountId: string, id: string, state: TaskState): Buffer =>
    sealer.seal(printState(state), taskPlace(accountId, id));

  return {
    add: ({ owner, id, connectionId, ...state }, limit) =>
      inTransaction(orm, async (em) => {
        const { accountId, memberId = null, clientId, grantId = null } = owner;
        await lockAccount(em, accountId);
        // The lock orders this insert and a concurrent deletion.
        const connection = await tablesOf(em)
          .selectFrom("connection")
          .select("id")
          .where(({ and }) => and({ account_id: accountId, id: connectionId }))
          .forKeyShare()
          .executeTakeFirst();
        if (connection === undefined) return "deleted";
        if ((await em.count(McpTaskEntity, { accountId, expiresAt: { $gt: now() } })) >= limit) return "full";
        await tablesOf(em)
          .insertInto("mcp_task")
          .values({
            account_id: accountId,
            id,
            connection_id: connectionId,
            member_id: memberId,
            client_id: clientId,
            grant_id: grantId,
            sealed_state: seal(accountId, id, state),
            expires_at: sql<Date>`now() + make_interval(secs => ${state.ttlMs / 1_000})`,
            attended_until: state.address === undefined ? null : ATTENDED_UNTIL,
            ended_at: endedAt(state),
          })
          .execute();
        return "added";
      }),

    find: ({ accountId, memberId = null, clientId, grantId = null }, id) =>
      withEntities(orm, async (em) => {
        const row = await tablesOf(em)
          .selectFrom("mcp_task")
          .select([
            "connection_id",
            "sealed_state",
            sql<boolean>`coalesce(attended_until < now(), false)`.as("is_abandoned"),
          ])
          .where(({ and }) => and({ account_id: accountId, id, client_id: clientId }))
          .where("member_id", "is not distinct from", memberId)
          .where("grant_id", "is not distinct from", grantId)
          .where("expires_at", ">", sql<Date>`now()`)
          .executeTakeFirst();
        if (row === undefined) return undefined;
        const state = readState(sealer.open(row.sealed_state, taskPlace(accountId, id)));
        return { ...state, id, connectionId: row.connection_id, isAbandoned: row.is_abandoned };
      }),

    update: (accountId, id, state) =>
      withEntities(orm, async (em) => {
        const { numUpdatedRows } = await tablesOf(em)
          .updateTable("mcp_task")
          .set({
            sealed_state: seal(accountId, id, state),
            expires_at: sql<Date>`created_at + make_interval(secs => ${state.ttlMs / 1_000})`,
            ended_at: endedAt(state),
          })
          .where(({ and }) => and({ account_id: accountId, id }))
          .where("ended_at", "is", null)
          .executeTakeFirstOrThrow();
        return numUpdatedRows > 0n;
      }),

    attend: (accountId, id) =>
      withEntities(orm, async (em) => {
        const { numUpdatedRows } = await tablesOf(em)
          .updateTable("mcp_task")
          .set({ attended_until: ATTENDED_UNTIL })
          .where(({ and }) => and({ account_id: accountId, id }))
          .where("ended_at", "is", null)
          .executeTakeFirstOrThrow();
        return numUpdatedRows > 0n;
      }),
  };
}

function endedAt({ hasEnded }: TaskState) {
  return hasEnded ? sql<Date>`now()` : null;
}

function printState({ toolName, upstreamId, address, json, ttlMs, hasEnded }: TaskState): string {
  return JSON.stringify({ toolName, upstreamId, address, json, ttlMs, hasEnded });
}

function readState(text: string): TaskState {
  const { toolName, upstreamId, address, json, ttlMs, hasEnded } = fieldsOf(JSON.parse(text));
  return {
    toolName: textOf(toolName),
    upstreamId: textOf(upstreamId),
    address: optionalText(address),
    json: textOf(json),
    ttlMs: Number(ttlMs),
    hasEnded: hasEnded === true,
  };
}
