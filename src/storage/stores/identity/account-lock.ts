import { type EntityManager, LockMode } from "@mikro-orm/postgresql";
import { DomainError } from "../../../domain-error.ts";
import { MemberEntity } from "../../entities/identity/member.ts";
import { AccountEntity } from "../../entities/identity/account.ts";

/**
 * Locks the account's row for the rest of the transaction, so that limits per account are counted exactly. Throws
 * `unauthenticated` if the account is deleted or disabled, or the member has left it, since its tokens are then invalid.
 */
export async function lockAccount(em: EntityManager, id: string, memberId?: string | null): Promise<void> {
  const account = await em.findOne(AccountEntity, { id, disabledAt: null }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  const hasLeft =
    typeof memberId === "string" && (await em.count(MemberEntity, { accountId: id, personId: memberId })) === 0;
  if (account === null || hasLeft) throw new DomainError("unauthenticated", "Invalid or expired token.");
}
