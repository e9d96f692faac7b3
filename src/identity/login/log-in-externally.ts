import { DomainError } from "../../domain-error.ts";
import { randomId } from "../random.ts";
import type { ExternalIdentityStore } from "./external-identity.ts";
import type { ExternalPerson } from "./external-provider.ts";

/**
 * The account of somebody whom the provider has logged in. Fails with `forbidden` when there is none and none may be made.
 *
 * Known by issuer and subject alone. A new account takes the address, when the provider has verified it and nobody has it;
 * an account that exists is never taken over by its address.
 */
export type LogInExternally = (person: ExternalPerson) => Promise<{ readonly accountId: string }>;

/** Logging in through the provider; `createsAccounts` lets its people in who were not here before. */
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
        "There is no account for you here yet. Ask the operator for one, log in to it, and connect this login to it.",
      );
    }
    const { verifiedEmail: email } = person;
    if (email === undefined || email.length > 254) {
      throw new DomainError("forbidden", "An account needs an e-mail address that your provider has verified.");
    }
    const accountId = randomId("acc_");
    if (await deps.identities.insertAccount({ id: accountId, email }, person)) return { accountId };
    // Somebody else with this address, or this very login a moment ago in another window.
    const raced = await deps.identities.findAccount(person);
    if (raced !== undefined) return raced;
    throw new DomainError(
      "forbidden",
      "There already is an account with your e-mail address. Log in to it with its password, and connect this login to it.",
    );
  };
}
