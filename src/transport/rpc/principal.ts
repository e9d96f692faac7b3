import { createContextKey, type ContextKey, type ContextValues } from "@connectrpc/connect";
import type { Principal } from "../../identity/principal.ts";
import { DomainError } from "../../domain-error.ts";

/** Where the gate leaves the verified principal for handlers. Undefined on public RPCs alone. */
export const principalKey: ContextKey<Principal | undefined> = createContextKey<Principal | undefined>(undefined, {
  description: "principal",
});

/** The principal of a call that is not public. Throws DomainError `unauthenticated` if the gate let none in. */
export function principalOf(context: { readonly values: ContextValues }): Principal {
  const principal = context.values.get(principalKey);
  if (principal === undefined)
    throw new DomainError("unauthenticated", "Authentication credentials were not provided.", {
      reason: "CREDENTIALS_MISSING",
    });
  return principal;
}
