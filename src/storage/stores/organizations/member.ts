import type { EntityManager } from "@mikro-orm/postgresql";
import type { MembershipStore } from "../../../identity/organizations/memberships.ts";
import { MAX_MEMBERS, type MemberStore } from "../../../identity/organizations/organization.ts";
import type { Database } from "../../database.ts";
import { MemberEntity } from "../../entities/identity/member.ts";
import { inTransaction } from "../../orm.ts";
import { findMembershipRow } from "../../statements/member.ts";
import { lockAccount } from "../identity/account-lock.ts";
import { announceMember, endMembership, isLastOwner, recordMember } from "./end-membership.ts";
import { createMemberReader } from "./member-reader.ts";

/** Members of organizations in PostgreSQL. */
export function createMemberStore({ orm, pool }: Pick<Database, "orm" | "pool">): MemberStore & MembershipStore {
  /** Locks the organization, so that its owners are counted exactly, and returns a member of it. */
  async function lockMember(em: EntityManager, accountId: string, personId: string) {
    await lockAccount(em, accountId);
    return em.findOne(MemberEntity, { accountId, personId });
  }

  return {
    ...createMemberReader(orm),

    addMember: (id, memberId, role, actor) =>
      inTransaction(orm, async (em) => {
        if ((await lockMember(em, id, memberId)) !== null) return "member_already";
        if ((await em.count(MemberEntity, { accountId: id })) >= MAX_MEMBERS) return "full";
        em.create(MemberEntity, { accountId: id, personId: memberId, role });
        await recordMember(em, id, memberId, "member.add", actor);
        await announceMember(em, id, memberId);
        return "joined";
      }),

    changeRole: (id, memberId, role, actor) =>
      inTransaction(orm, async (em) => {
        const member = await lockMember(em, id, memberId);
        if (member === null) return "missing";
        if (member.role === "owner" && role !== "owner" && (await isLastOwner(em, id, memberId))) return "last_owner";
        member.role = role;
        await recordMember(em, id, memberId, "member.change_role", actor);
        await announceMember(em, id, memberId);
        return "changed";
      }),

    transfer: (id, fromId, toId, actor) =>
      inTransaction(orm, async (em) => {
        const next = await lockMember(em, id, toId);
        const previous = await em.findOne(MemberEntity, { accountId: id, personId: fromId, role: "owner" });
        if (next === null || previous === null) return "missing";
        next.role = "owner";
        previous.role = "admin";
        for (const memberId of [toId, fromId]) {
          await recordMember(em, id, memberId, "member.change_role", actor);
          await announceMember(em, id, memberId);
        }
        return "changed";
      }),

    removeMember: (id, memberId, actor) =>
      inTransaction(orm, async (em) => {
        const member = await lockMember(em, id, memberId);
        if (member === null) return "missing";
        if (member.role === "owner" && (await isLastOwner(em, id, memberId))) return "last_owner";
        await recordMember(em, id, memberId, "member.remove", actor);
        await em.flush();
        em.clear();
        await endMembership(em, id, memberId);
        return "changed";
      }),

    async findMembership(accountId, personId) {
      const [row] = (await findMembershipRow(pool, { accountId, personId })).rows;
      return row;
    },
  };
}
