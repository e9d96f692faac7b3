import { DomainError } from "../../domain-error.ts";
import { randomId } from "../random.ts";
import type { ExternalIdentityStore } from "./external-identity.ts";
import type { ExternalPerson } from "./external-provider.ts";

/**
 * Finds or creates the account of a person whom the provider authenticated. Throws `forbidden` if there is none and
 * none may be created.
 *
 * Accounts are found by issuer and subject only. A new account gets the verified address if it is free; an existing
 * account is never found by its address.
 */
export type LogInExternally = (person: ExternalPerson) => Promise<{ readonly accountId: string }>;

/** `createsAccounts` creates accounts for people who have none. */
export function createLogInExternally(deps: {
  readonly identities: Pick<ExternalIdentityStore, "findAccount" | "insertAccount">;
  readonly createsAccounts: boolean;
}): LogInExternally {
  return async (person) => {
    const known = await deps.identities.findAccount(person);
    if (known !== undefined) return known;
    if (!deps.createsAccounts) {
      throw new DomainError(
        "forbidden",
        "You have no account here yet. Ask the operator for one, log in to it, and connect this login to it.",
      );
    }
    const { verifiedEmail: email } = person;
    if (email === undefined || email.length > 254) {
      throw new DomainError("forbidden", "An account needs an e-mail address that your provider has verified.");
    }
    const accountId = randomId("acc_");
    if (await deps.identities.insertAccount({ id: accountId, email }, person)) return { accountId };
    // The address is taken, or another window created the account at the same time.
    const raced = await deps.identities.findAccount(person);
    if (raced !== undefined) return raced;
    throw new DomainError(
      "forbidden",
      "An account with your e-mail address already exists. Log in to it with its password, and connect this login to it.",
    );
  };
}
