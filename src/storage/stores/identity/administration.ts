import type { InferEntity } from "@mikro-orm/core";
import { LockMode, raw } from "@mikro-orm/postgresql";
import type { AccountStore } from "../../../identity/account.ts";
import type { AdministeredAccount, AdministrationStore } from "../../../identity/accounts/administration.ts";
import { INSTALLATION_LOG } from "../../../identity/audit/audit-event.ts";
import { AccountEntity } from "../../entities/identity/account.ts";
import { ConnectionEntity } from "../../entities/connections/connection.ts";
import { SessionEntity } from "../../entities/sessions/session.ts";
import { inTransaction, type Orm, withEntities } from "../../orm.ts";
import { runnerOf } from "../run-statement.ts";
import { accountEvent, emailOf } from "./account.ts";
import { recordEvent } from "./audit-event.ts";
import { endLoginSessions } from "./login-session.ts";
import { dropRefreshTokens, type PurgeAccount } from "./purge-account.ts";
import { restoreTokens, revoke } from "./revocation.ts";

type AccountRow = InferEntity<typeof AccountEntity>;

function toAccount(row: AccountRow, connectionCount: number): AdministeredAccount {
  const { id, isAdmin, createdAt, disabledAt } = row;
  const name = row.kind === "organization" ? row.name : undefined;
  return { id, email: emailOf(row), name, isAdmin, connectionCount, createdAt, disabledAt: disabledAt ?? undefined };
}

/** Accounts in PostgreSQL, for administrators. */
export function createAdministrationStore(
  orm: Orm,
  accounts: Pick<AccountStore, "insert" | "disable">,
  purgeAccount: PurgeAccount,
): AdministrationStore {
  return {
    list: ({ query, isDisabled }, limit, offset) =>
      withEntities(orm, async (em) => {
        const label = "case kind when 'person' then email else name end";
        const isFound = { [raw(`position(lower(?) in lower(${label}))`, [query])]: { $gt: 0 } };
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
      return purgeAccount(id, (em) => {
        recordEvent(em, { ...accountEvent({ id, email: "" }, "account.purge", actor), accountId: INSTALLATION_LOG });
      });
    },
  };
}
