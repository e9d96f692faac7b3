import { DomainError } from "../../domain-error.ts";
import type { AuthorizationFlow, Person } from "./authorization-flow.ts";

/** Returns the accounts whose connections a person manages: the own one first, then organizations. */
export type ListManagedAccounts = (personId: string) => Promise<readonly string[]>;

/** Extends a flow to every account that the person manages, since a ticket does not name its account. */
export function createManagedAccountsFlow(
  flow: AuthorizationFlow,
  managedAccounts: ListManagedAccounts,
): AuthorizationFlow {
  /** Tries the accounts in turn. One that does not know the ticket or the state changes nothing. */
  async function inAccount<Result>(person: Person, work: (person: Person) => Promise<Result>): Promise<Result> {
    let unknown: unknown;
    for (const accountId of await managedAccounts(person.accountId)) {
      try {
        return await work({ ...person, accountId });
      } catch (error) {
        if (!(error instanceof DomainError) || error.kind !== "not_found") throw error;
        unknown ??= error;
      }
    }
    throw unknown;
  }

  return {
    preview: (person, ticket) => inAccount(person, (who) => flow.preview(who, ticket)),
    start: (person, ticket, signal) => inAccount(person, (who) => flow.start(who, ticket, signal)),
    complete: (person, answer, actor, signal) => inAccount(person, (who) => flow.complete(who, answer, actor, signal)),
  };
}
