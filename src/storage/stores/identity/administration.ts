import type { InferEntity } from "@mikro-orm/core";
import { type EntityManager, LockMode, raw } from "@mikro-orm/postgresql";
import { sql } from "kysely";
import type { AccountStore } from "../../../identity/account.ts";
import type { Actor } from "../../../identity/actor.ts";
import type { AdministeredAccount, AdministrationStore } from "../../../identity/accounts/administration.ts";
import { INSTALLATION_LOG } from "../../../identity/audit/audit-event.ts";
import { AccountEntity } from "../../entities/identity/account.ts";
import { AuditEventEntity } from "../../entities/identity/audit-event.ts";
import { CallRecordEntity } from "../../entities/calls/call-record.ts";
import { ConnectionEntity } from "../../entities/connections/connection.ts";
import { SessionEntity } from "../../entities/sessions/session.ts";
import { callFunction, inTransaction, type Orm, tablesOf, withEntities } from "../../orm.ts";
import { deleteInBatches } from "../../statements/batch-delete.ts";
import { type EnqueueRevocation, revokeGrants } from "../connections/connection-grant-write.ts";
import { runnerOf } from "../run-statement.ts";
import { accountEvent } from "./account.ts";
import { recordEvent } from "./audit-event.ts";
import { endLoginSessions } from "./login-session.ts";
import { restoreTokens, revoke } from "./revocation.ts";

type AccountRow = InferEntity<typeof AccountEntity>;

function toAccount(row: AccountRow, connectionCount: number): AdministeredAccount {
  const { id, email, isAdmin, createdAt, disabledAt } = row;
  return { id, email, isAdmin, connectionCount, createdAt, disabledAt: disabledAt ?? undefined };
}

const isOfAccount = (given: { readonly accountId: string }) => sql<boolean>`account_id = ${given.accountId}`;
const callKey = ["account_id", "started_at", "id"] as const;
const deleteHistory = deleteInBatches("purge_account_history", "call_record", callKey, isOfAccount);
const contentsKey = ["account_id", "call_id"] as const;
const deleteContents = deleteInBatches("purge_account_contents", "call_contents", contentsKey, isOfAccount);

/** Maximum duration of a purge within one request, in milliseconds. The response then states the progress. */
const PURGE_MS = 20_000;

/** Accounts in PostgreSQL, for administrators. */
export function createAdministrationStore(
  orm: Orm,
  accounts: Pick<AccountStore, "insert" | "disable">,
  enqueueRevocation: EnqueueRevocation,
): AdministrationStore {
  async function deleteForGood(em: EntityManager, id: string, actor: Actor): Promise<"purged" | "active"> {
    await dropRefreshTokens(em, id);
    await revokeGrants(em, id, undefined, enqueueRevocation);
    if ((await em.nativeDelete(AccountEntity, { id, disabledAt: { $ne: null } })) === 0) return "active";
    // Concurrent writes for the account's connections either are visible now or can no longer commit.
    await em.nativeDelete(CallRecordEntity, { accountId: id });
    await callFunction(em, "set_config", "patchbay.purge", "on", true);
    await em.nativeDelete(AuditEventEntity, { accountId: id });
    // Events in the logs of other accounts stay, without the person's names, address and user agent.
    const isObject = { objectType: "account", objectId: id } as const;
    await em.nativeUpdate(AuditEventEntity, isObject, { objectName: "" });
    const concerns = { $or: [{ actorAccountId: id }, isObject] };
    await em.nativeUpdate(AuditEventEntity, concerns, { address: "", userAgent: "" });
    await revoke(runnerOf(em), { accountId: id, kind: "account", subject: id });
    recordEvent(em, { ...accountEvent({ id, email: "" }, "account.purge", actor), accountId: INSTALLATION_LOG });
    return "purged";
  }

  return {
    list: ({ query, isDisabled }, limit, offset) =>
      withEntities(orm, async (em) => {
        const isFound = { [raw("position(lower(?) in lower(email))", [query])]: { $gt: 0 } };
        const [rows, totalCount] = await em.findAndCount(
          AccountEntity,
          {
            ...(query === undefined ? {} : { $or: [{ id: query }, isFound] }),
            ...(isDisabled === undefined ? {} : { disabledAt: isDisabled ? { $ne: null } : null }),
          },
          { orderBy: { createdAt: "asc", id: "asc" }, limit, offset },
        );
        const where = { accountId: { $in: rows.map(({ id }) => id) } };
        const counts = await em.countBy(ConnectionEntity, "accountId", { where });
        return { accounts: rows.map((row) => toAccount(row, counts[row.id] ?? 0)), totalCount };
      }),
    find: (id) =>
      withEntities(orm, async (em) => {
        const row = await em.findOne(AccountEntity, { id });
        return row === null ? undefined : toAccount(row, await em.count(ConnectionEntity, { accountId: id }));
      }),
    insert: (account, actor) => accounts.insert(account, actor),
    disable: (id, actor) => accounts.disable(id, actor),
    enable: (id, actor) =>
      inTransaction(orm, async (em) => {
        const isDisabled = { id, disabledAt: { $ne: null } };
        const account = await em.findOne(AccountEntity, isDisabled, { lockMode: LockMode.PESSIMISTIC_WRITE });
        if (account === null) return false;
        account.disabledAt = null;
        recordEvent(em, accountEvent(account, "account.enable", actor));
        await restoreTokens(runnerOf(em), id);
        return true;
      }),
    endSessions: (id, actor) =>
      inTransaction(orm, async (em) => {
        const account = await em.findOne(AccountEntity, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
        if (account === null) return false;
        recordEvent(em, accountEvent(account, "account.end_sessions", actor));
        await dropRefreshTokens(em, id);
        await em.nativeDelete(SessionEntity, { accountId: id });
        await endLoginSessions(em, id, undefined);
        await revoke(runnerOf(em), { accountId: id, kind: "account", subject: id, issuedBefore: new Date() });
        return true;
      }),
    async purge(id, actor) {
      const account = await withEntities(orm, (em) => em.findOne(AccountEntity, { id }));
      if (account === null) return "missing";
      if (account.disabledAt === null) return "active";
      const until = Date.now() + PURGE_MS;
      const isWhole = await withEntities(orm, async (em) => {
        const runner = runnerOf(em);
        const given = { accountId: id };
        return (await deleteContents(runner, given, until)) && (await deleteHistory(runner, given, until));
      });
      return isWhole ? inTransaction(orm, (em) => deleteForGood(em, id, actor)) : "unfinished";
    },
  };
}

async function dropRefreshTokens(em: EntityManager, accountId: string): Promise<void> {
  await tablesOf(em)
    .deleteFrom("oidc_payload")
    .where("grant_id", "in", (grants) =>
      grants.selectFrom("oauth_grant").select("id").where("account_id", "=", accountId),
    )
    .execute();
}
