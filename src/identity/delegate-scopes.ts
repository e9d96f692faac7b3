import { DomainError, invalid } from "../domain-error.ts";
import type { Account } from "./account.ts";
import { grantableScopes } from "./grantable-scopes.ts";
import { mayCreateCredentials, type Principal } from "./principal.ts";
import { satisfies, type Scope } from "./scopes.ts";

/**
 * The scopes that a caller hands on to a client or a token. Fails with `invalid` for what is no scope or not for the
 * account, and with `forbidden` for a scope that the caller does not hold: nobody hands out more than they have.
 */
export function delegateScopes(principal: Principal, account: Account, asked: readonly string[]): readonly Scope[] {
  const odd = asked.find((word) => word === "" || word.includes(" "));
  if (odd !== undefined) throw invalid("scopes", `${JSON.stringify(odd.slice(0, 64))} is not a scope.`);
  const scopes = grantableScopes(account, asked.join(" "), "scopes");
  requireScopes(principal, scopes);
  return scopes;
}

/** Fails with `forbidden` unless the caller holds every scope: who gets a secret that opens them would hold them too. */
export function requireScopes(principal: Principal, scopes: readonly Scope[]): void {
  if (!mayCreateCredentials(principal)) {
    throw new DomainError("forbidden", "A client that acts under a grant cannot make or change credentials.");
  }
  const beyond = scopes.find((scope) => !satisfies(principal.scopes, [scope]));
  if (beyond !== undefined) {
    throw new DomainError("forbidden", `Your token does not have the scope ${beyond}, so it cannot hand it out.`);
  }
}
