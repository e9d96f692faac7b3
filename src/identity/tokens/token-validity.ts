import type { Principal } from "../principal.ts";
import type { Revocations } from "../revocations/revocations.ts";

/** Whether a principal's token is neither expired nor revoked. For streams, which outlive the check at their start. */
export type IsTokenValid = (principal: Principal) => Promise<boolean>;

export function createIsTokenValid(revocations: Pick<Revocations, "isRevoked">): IsTokenValid {
  return async (principal) =>
    (principal.expiresAt === undefined || principal.expiresAt * 1000 > Date.now()) &&
    !(await revocations.isRevoked(principal));
}
