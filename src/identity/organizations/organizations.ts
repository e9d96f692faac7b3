import { DomainError, invalid } from "../../domain-error.ts";
import { checkPage, DEFAULT_PAGE, type PageQuery } from "../../page.ts";
import { type Caller, toActor } from "../actor.ts";
import { isUnlimited, type Principal } from "../principal.ts";
import { randomId } from "../random.ts";
import {
  checkOrganizationName,
  type JoinedOrganization,
  MAX_ORGANIZATIONS,
  type MemberStore,
  type OrganizationStore,
} from "./organization.ts";
import { organizationNotFound, requireManager, type RequireOrganization } from "./organization-access.ts";
import { memberNotFound } from "./members.ts";

/** Use cases of organizations. Throws `not_found` and `forbidden` as `RequireOrganization` does. */
export interface Organizations {
  /** Creates an organization that the caller owns. */
  create(caller: Caller, name: string): Promise<JoinedOrganization>;
  list(
    principal: Principal,
    query: PageQuery,
  ): Promise<{
    readonly organizations: readonly JoinedOrganization[];
    readonly totalCount: number;
    readonly hasMore: boolean;
  }>;
  get(principal: Principal, id: string): Promise<JoinedOrganization>;
  /** Undefined keeps the name. */
  rename(caller: Caller, id: string, name: string | undefined): Promise<JoinedOrganization>;
  delete(caller: Caller, id: string): Promise<void>;
  /** Makes a member an owner and the caller an admin. */
  transfer(caller: Caller, id: string, memberId: string): Promise<JoinedOrganization>;
}

/** `onChanged` is called after a change of members, with the member or undefined for all of the organization. */
export function createOrganizations(deps: {
  readonly store: OrganizationStore;
  readonly members: Pick<MemberStore, "transfer">;
  readonly require: RequireOrganization;
  readonly onChanged: (organizationId: string, memberId: string | undefined) => void;
}): Organizations {
  const { store, require } = deps;

  return {
    async create(caller, name) {
      requireManager(caller);
      if (!isUnlimited(caller))
        throw new DomainError("forbidden", "You do not have permission to create organizations.");
      if (caller.role !== undefined)
        throw new DomainError("forbidden", "Organizations are created with a token for your own account.");
      const id = randomId("org_");
      const organization = { id, name: checkOrganizationName(name) };
      if (!(await store.insert(organization, caller.accountId, MAX_ORGANIZATIONS, toActor(caller)))) {
        const rule = `A person can be in at most ${MAX_ORGANIZATIONS} organizations; leave one first.`;
        throw new DomainError("exhausted", rule);
      }
      deps.onChanged(id, caller.accountId);
      return require(caller, id, "owner");
    },

    async list(principal, query) {
      checkPage(query);
      const { limit = DEFAULT_PAGE, offset = 0 } = query;
      if (!isUnlimited(principal)) return { organizations: [], totalCount: 0, hasMore: false };
      if (principal.role !== undefined) {
        const own = await require(principal, principal.accountId, "member");
        return { organizations: offset === 0 ? [own] : [], totalCount: 1, hasMore: false };
      }
      const { organizations, totalCount } = await store.listOf(principal.accountId, limit, offset);
      return { organizations, totalCount, hasMore: offset + organizations.length < totalCount };
    },

    get: (principal, id) => require(principal, id, "member"),

    async rename(caller, id, name) {
      requireManager(caller);
      const organization = await require(caller, id, "owner");
      const renamed = name === undefined ? organization.name : checkOrganizationName(name);
      if (renamed === organization.name) return organization;
      if (!(await store.rename(id, renamed, toActor(caller)))) throw organizationNotFound(id);
      return { ...organization, name: renamed };
    },

    async delete(caller, id) {
      requireManager(caller);
      await require(caller, id, "owner");
      if (!(await store.delete(id, toActor(caller)))) throw organizationNotFound(id);
      deps.onChanged(id, undefined);
    },

    async transfer(caller, id, memberId) {
      requireManager(caller);
      const organization = await require(caller, id, "owner");
      const own = caller.memberId ?? caller.accountId;
      if (memberId === "") throw invalid("member_id", "member_id is required: the next owner.");
      if (memberId === own) throw invalid("member_id", "member_id must name another member.");
      if ((await deps.members.transfer(id, own, memberId, toActor(caller))) === "missing")
        throw memberNotFound(memberId);
      deps.onChanged(id, own);
      deps.onChanged(id, memberId);
      return { ...organization, role: "admin" };
    },
  };
}
