import { DomainError } from "../../domain-error.ts";
import { checkPage, DEFAULT_PAGE, type PageQuery } from "../../page.ts";
import { type Caller, toActor } from "../actor.ts";
import type { Principal } from "../principal.ts";
import type { Member, MemberStore } from "./organization.ts";
import { requireManager, type RequireOrganization, requireRole } from "./organization-access.ts";
import { parseRole } from "./role.ts";

/** Use cases of members. Throws `not_found` and `forbidden` as `RequireOrganization` does. */
export interface Members {
  list(
    principal: Principal,
    organizationId: string,
    query: PageQuery,
  ): Promise<{ readonly members: readonly Member[]; readonly totalCount: number; readonly hasMore: boolean }>;
  /** Undefined keeps the role. Throws `conflict` for the last owner. */
  changeRole(caller: Caller, organizationId: string, memberId: string, role: string | undefined): Promise<Member>;
  /** Removes a member, or lets the caller leave. Throws `conflict` for the last owner. */
  remove(caller: Caller, organizationId: string, memberId: string): Promise<void>;
}

/** `onChanged` is called after a change of a member. */
export function createMembers(deps: {
  readonly store: MemberStore;
  readonly require: RequireOrganization;
  readonly onChanged: (organizationId: string, memberId: string) => void;
}): Members {
  const { store, require } = deps;

  async function find(organizationId: string, memberId: string): Promise<Member> {
    const isPossibleId = /^[A-Za-z0-9_-]{1,128}$/.test(memberId);
    const member = isPossibleId ? await store.findMember(organizationId, memberId) : undefined;
    if (member === undefined) throw memberNotFound(memberId);
    return member;
  }

  function check(outcome: "changed" | "missing" | "last_owner", memberId: string): void {
    if (outcome === "missing") throw memberNotFound(memberId);
    if (outcome === "last_owner") {
      const rule = "The organization needs an owner: transfer the ownership first, or delete the organization.";
      throw new DomainError("conflict", rule);
    }
  }

  return {
    async list(principal, organizationId, query) {
      checkPage(query);
      await require(principal, organizationId, "admin");
      const { limit = DEFAULT_PAGE, offset = 0 } = query;
      const { members, totalCount } = await store.listMembers(organizationId, limit, offset);
      return { members, totalCount, hasMore: offset + members.length < totalCount };
    },

    async changeRole(caller, organizationId, memberId, role) {
      requireManager(caller);
      await require(caller, organizationId, "owner");
      const wanted = role === undefined ? undefined : parseRole(role);
      const member = await find(organizationId, memberId);
      if (wanted === undefined || wanted === member.role) return member;
      check(await store.changeRole(organizationId, memberId, wanted, toActor(caller)), memberId);
      deps.onChanged(organizationId, memberId);
      return { ...member, role: wanted };
    },

    async remove(caller, organizationId, memberId) {
      requireManager(caller);
      const { role } = await require(caller, organizationId, "member");
      const isOwn = memberId === (caller.role === undefined ? caller.accountId : caller.memberId);
      if (!isOwn) {
        requireRole(role, "admin");
        const member = await find(organizationId, memberId);
        if (member.role !== "member") requireRole(role, "owner");
      }
      check(await store.removeMember(organizationId, memberId, toActor(caller)), memberId);
      deps.onChanged(organizationId, memberId);
    },
  };
}

/** Echoes at most 64 printable characters of the id. */
export function memberNotFound(id: string): DomainError {
  return new DomainError("not_found", `Member ${id.slice(0, 64).replace(/[^\x20-\x7e]/g, "?")} not found`);
}
