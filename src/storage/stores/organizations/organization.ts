import type { EntityManager } from "@mikro-orm/postgresql";
import { INSTALLATION_LOG, type AuditAction } from "../../../identity/audit/audit-event.ts";
import type { Actor } from "../../../identity/actor.ts";
import type { OrganizationStore } from "../../../identity/organizations/organization.ts";
import { AccountEntity } from "../../entities/identity/account.ts";
import { MemberEntity } from "../../entities/identity/member.ts";
import { SessionEntity } from "../../entities/sessions/session.ts";
import { inTransaction, now, type Orm } from "../../orm.ts";
import { lockAccount } from "../identity/account-lock.ts";
import { recordEvent } from "../identity/audit-event.ts";
import { revoke } from "../identity/revocation.ts";
import { runnerOf } from "../run-statement.ts";
import { announceMember } from "./end-membership.ts";
import { createOrganizationReader } from "./organization-reader.ts";

function record(
  em: EntityManager,
  { id, name }: { id: string; name: string },
  action: AuditAction,
  actor: Actor,
): void {
  const accountId = action === "organization.delete" ? INSTALLATION_LOG : id;
  const changed = action === "organization.rename" ? ["name"] : [];
  recordEvent(em, { accountId, action, actor, objectType: "organization", objectId: id, objectName: name, changed });
}

/** Enqueues the deletion of an organization's rows, within a transaction. */
export type EnqueueAccountPurge = (em: EntityManager, accountId: string) => Promise<void>;

/** Organizations in PostgreSQL. */
export function createOrganizationStore(orm: Orm, enqueuePurge: EnqueueAccountPurge): OrganizationStore {
  return {
    ...createOrganizationReader(orm),

    insert: ({ id, name }, ownerId, limit, actor) =>
      inTransaction(orm, async (em) => {
        await lockAccount(em, ownerId);
        if ((await em.count(MemberEntity, { personId: ownerId })) >= limit) return false;
        // Required and unique, and read by the previous version; nobody can have or verify such an address.
        const email = `${id}@organization.invalid`;
        em.create(AccountEntity, { id, kind: "organization", name, email, passwordHash: "" });
        await em.flush();
        em.create(MemberEntity, { accountId: id, personId: ownerId, role: "owner" });
        record(em, { id, name }, "organization.create", actor);
        await announceMember(em, id, ownerId);
        return true;
      }),

    rename: (id, name, actor) =>
      inTransaction(orm, async (em) => {
        if ((await em.nativeUpdate(AccountEntity, { id, kind: "organization", disabledAt: null }, { name })) === 0)
          return false;
        record(em, { id, name }, "organization.rename", actor);
        return true;
      }),

    delete: (id, actor) =>
      inTransaction(orm, async (em) => {
        const isActive = { id, kind: "organization", disabledAt: null } as const;
        if ((await em.nativeUpdate(AccountEntity, isActive, { disabledAt: now() })) === 0) return false;
        const { name } = await em.findOneOrFail(AccountEntity, { id });
        record(em, { id, name }, "organization.delete", actor);
        await em.nativeDelete(MemberEntity, { accountId: id });
        await em.nativeDelete(SessionEntity, { accountId: id });
        await enqueuePurge(em, id);
        await revoke(runnerOf(em), { accountId: id, kind: "account", subject: id, isKeptForEver: true });
        await announceMember(em, id, undefined);
        return true;
      }),
  };
}
