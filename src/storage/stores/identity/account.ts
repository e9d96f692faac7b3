import type { InferEntity } from "@mikro-orm/core";
import { raw } from "@mikro-orm/postgresql";
import type { Account, AccountStore } from "../../../identity/account.ts";
import type { Actor } from "../../../identity/actor.ts";
import type { AuditAction } from "../../../identity/audit/audit-event.ts";
import { AccountEntity } from "../../entities/identity/account.ts";
import { SessionEntity } from "../../entities/sessions/session.ts";
import { inTransaction, type Orm, tablesOf, withEntities } from "../../orm.ts";
import { runnerOf } from "../run-statement.ts";
import { type ChangeEvent, recordEvent } from "./audit-event.ts";
import { endLoginSessions } from "./login-session.ts";
import { revoke } from "./revocation.ts";

type AccountRow = InferEntity<typeof AccountEntity>;

/** Selects an account by e-mail address, ignoring case. */
export function byEmail(email: string) {
  return { [raw("lower(email)")]: raw("lower(?)", [email]) };
}

/** An audit event that concerns an account as a whole. */
export function accountEvent(
  account: Pick<AccountRow, "id" | "email"> & Partial<Pick<AccountRow, "kind" | "name">>,
  action: AuditAction,
  actor: Actor,
): ChangeEvent {
  const { id, email, kind, name = "" } = account;
  const objectName = kind === "organization" ? name : email;
  return { accountId: id, action, actor, objectType: "account", objectId: id, objectName };
}

/** The address of a person; an organization has none. */
export function emailOf({ kind, email }: Pick<AccountRow, "kind" | "email">): string {
  return kind === "organization" ? "" : email;
}

function toAccount(row: AccountRow): Account {
  const { id, kind, name, isAdmin, disabledAt } = row;
  return { id, kind, email: emailOf(row), name, isAdmin, disabledAt: disabledAt ?? undefined };
}

/** Accounts in PostgreSQL. */
export function createAccountStore(orm: Orm): AccountStore {
  return {
    insert: ({ id, email, passwordHash, isAdmin }, actor) =>
      inTransaction(orm, async (em) => {
        const { numInsertedOrUpdatedRows } = await tablesOf(em)
          .insertInto("account")
          .values({ id, email, password_hash: passwordHash, is_admin: isAdmin })
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirstOrThrow();
        if (numInsertedOrUpdatedRows === 0n) return false;
        recordEvent(em, accountEvent({ id, email }, "account.create", actor));
        return true;
      }),
    async findById(id) {
      const account = await withEntities(orm, (em) => em.findOne(AccountEntity, { id }));
      return account === null ? undefined : toAccount(account);
    },
    async findByEmail(email) {
      const account = await withEntities(orm, (em) => em.findOne(AccountEntity, byEmail(email)));
      return account?.kind === "person" ? toAccount(account) : undefined;
    },
    disable: (id, actor) =>
      inTransaction(orm, async (em) => {
        const disabledAt = raw("coalesce(disabled_at, now())");
        if ((await em.nativeUpdate(AccountEntity, { id }, { disabledAt })) === 0) return false;
        recordEvent(em, accountEvent(await em.findOneOrFail(AccountEntity, { id }), "account.disable", actor));
        await em.nativeDelete(SessionEntity, { accountId: id });
        await endLoginSessions(em, id, undefined);
        await revoke(runnerOf(em), { accountId: id, kind: "account", subject: id, isKeptForEver: true });
        return true;
      }),
    resetPassword: (id, passwordHash, actor) =>
      inTransaction(orm, async (em) => {
        if ((await em.nativeUpdate(AccountEntity, { id }, { passwordHash })) === 0) return false;
        const { email } = await em.findOneOrFail(AccountEntity, { id });
        recordEvent(em, { ...accountEvent({ id, email }, "account.change_password", actor), changed: ["password"] });
        await endLoginSessions(em, id, undefined);
        return true;
      }),
    async isEmpty() {
      const any = { fields: ["id"], limit: 1 } as const;
      return (await withEntities(orm, (em) => em.find(AccountEntity, {}, any))).length === 0;
    },
  };
}
