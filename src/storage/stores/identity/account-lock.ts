import { type EntityManager, LockMode } from "@mikro-orm/postgresql";
import { DomainError } from "../../../domain-error.ts";
import { AccountEntity } from "../../entities/identity/account.ts";

/**
 * Locks the account's row for the rest of the transaction, under which what it may have a number of is counted. Fails with
 * `unauthenticated` when it is gone or disabled: then its tokens hold no longer.
 */
export async function lockAccount(em: EntityManager, id: string): Promise<void> {
  const account = await em.findOne(AccountEntity, { id, disabledAt: null }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (account === null) throw new DomainError("unauthenticated", "Invalid or expired token.");
}
