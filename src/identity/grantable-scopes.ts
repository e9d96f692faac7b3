import { invalid } from "../domain-error.ts";
import { type Account, accountLabel } from "./account.ts";
import { isScope, SCOPES, type Scope } from "./scopes.ts";

/**
 * Parses a space-separated list of scopes and returns it in canonical order. Throws `invalid` naming `field` for a
 * scope that the account's clients cannot have.
 */
export function grantableScopes(account: Account, words: string, field = "scope"): readonly Scope[] {
  const asked = words.split(" ").filter((word) => word !== "");
  if (asked.length === 0) throw invalid(field, `Name at least one scope of: ${SCOPES.join(" ")}.`);
  for (const word of asked) {
    if (!isScope(word))
      throw invalid(field, `"${word.slice(0, 64)}" is not a scope; the scopes are: ${SCOPES.join(" ")}.`);
  }
  if (asked.includes("mgmt.admin") && !account.isAdmin) {
    throw invalid(field, `mgmt.admin requires an account created with --admin; ${accountLabel(account)} is not one.`);
  }
  return SCOPES.filter((scope) => asked.includes(scope));
}
