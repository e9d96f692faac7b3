import { isOfEarlierMembership, type Memberships } from "../organizations/memberships.ts";
import type { Principal } from "../principal.ts";
import type { Revocations } from "../revocations/revocations.ts";

/** Whether a principal's token is neither expired nor revoked, and the role in the organization still the same. For streams, which outlive the check at their start. */
export type IsTokenValid = (principal: Principal) => Promise<boolean>;

export function createIsTokenValid(
  revocations: Pick<Revocations, "isRevoked">,
  memberships: Pick<Memberships, "find">,
): IsTokenValid {
  async function hasSameRole(principal: Principal): Promise<boolean> {
    const { accountId, memberId, role } = principal;
    if (memberId === undefined) return true;
    const membership = await memberships.find(accountId, memberId);
    return membership !== undefined && membership.role === role && !isOfEarlierMembership(principal, membership);
  }

  return async (principal) =>
    (principal.expiresAt === undefined || principal.expiresAt * 1000 > Date.now()) &&
    !(await revocations.isRevoked(principal)) &&
    (await hasSameRole(principal));
}
