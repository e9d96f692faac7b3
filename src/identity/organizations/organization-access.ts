import { DomainError } from "../../domain-error.ts";
import { isUnlimited, mayCreateCredentials, type Principal } from "../principal.ts";
import { includesRole, type Role } from "./role.ts";
import type { JoinedOrganization, OrganizationStore } from "./organization.ts";

/**
 * Returns an organization that a principal reaches, if the role suffices: a token for the organization reaches that
 * one, and a person's own token those that the person is a member of. Throws `not_found` for others and `forbidden` for
 * an insufficient role.
 */
export type RequireOrganization = (principal: Principal, id: string, needed: Role) => Promise<JoinedOrganization>;

const ORGANIZATION_ID = /^org_[A-Za-z0-9_-]{1,64}$/;

export function createRequireOrganization({
  store,
}: {
  readonly store: Pick<OrganizationStore, "find">;
}): RequireOrganization {
  async function find(principal: Principal, id: string): Promise<JoinedOrganization | undefined> {
    const { accountId, memberId, role: actingRole } = principal;
    if (!ORGANIZATION_ID.test(id) || !isUnlimited(principal)) return undefined;
    if (actingRole !== undefined && accountId !== id) return undefined;
    const found = await store.find(id, actingRole === undefined ? accountId : memberId);
    // A client of the organization has no membership; its role is that of its token.
    const role = actingRole !== undefined && memberId === undefined ? actingRole : found?.role;
    return found === undefined || role === undefined ? undefined : { ...found, role };
  }

  return async (principal, id, needed) => {
    const organization = await find(principal, id);
    if (organization === undefined) throw organizationNotFound(id);
    requireRole(organization.role, needed);
    return organization;
  };
}

/** Throws `forbidden` if the role does not include the needed one. */
export function requireRole(role: Role, needed: Role): void {
  if (includesRole(role, needed)) return;
  throw new DomainError("forbidden", `Your role in the organization is ${role}; this needs the role ${needed}.`);
}

/** Throws `forbidden` for a client that acts under a grant, which a person gave for other purposes. */
export function requireManager(principal: Principal): void {
  if (mayCreateCredentials(principal)) return;
  throw new DomainError("forbidden", "A client that acts under a grant cannot manage organizations.");
}

/** Echoes at most 64 printable characters of the id. */
export function organizationNotFound(id: string): DomainError {
  const shown = id.slice(0, 64).replace(/[^\x20-\x7e]/g, "?");
  return new DomainError("not_found", `Organization ${shown} not found or not accessible`);
}
