import { DomainError, invalid } from "../domain-error.ts";
import type { Account } from "./account.ts";
import { grantableScopes } from "./grantable-scopes.ts";
import { mayCreateCredentials, type Principal } from "./principal.ts";
import { satisfies, type Scope } from "./scopes.ts";

/**
 * Checks the scopes that a caller gives to a client or token. Throws `invalid` for an unknown scope or one that the
 * account cannot have, and `forbidden` for one that the caller does not have.
 */
export function delegateScopes(principal: Principal, account: Account, asked: readonly string[]): readonly Scope[] {
  const odd = asked.find((word) => word === "" || word.includes(" "));
  if (odd !== undefined) throw invalid("scopes", `${JSON.stringify(odd.slice(0, 64))} is not a scope.`);
  const scopes = grantableScopes(account, asked.join(" "), "scopes");
  requireScopes(principal, scopes);
  return scopes;
}

/** Throws `forbidden` unless the caller has every scope, because a secret gives its holder the scopes. */
export function requireScopes(principal: Principal, scopes: readonly Scope[]): void {
  if (!mayCreateCredentials(principal)) {
    throw new DomainError("forbidden", "A client that acts under a grant cannot create or change credentials.");
  }
  const beyond = scopes.find((scope) => !satisfies(principal.scopes, [scope]));
  if (beyond !== undefined) {
    throw new DomainError(
      "forbidden",
      `Your token does not have the scope ${beyond}, so it cannot give it to a credential.`,
    );
  }
}
