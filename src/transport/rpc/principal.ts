import { createContextKey, type ContextKey, type ContextValues } from "@connectrpc/connect";
import type { Principal } from "../../identity/principal.ts";
import { DomainError } from "../../domain-error.ts";

/** The context key under which the gate stores the verified principal. Undefined only on public RPCs. */
export const principalKey: ContextKey<Principal | undefined> = createContextKey<Principal | undefined>(undefined, {
  description: "principal",
});

/** Returns the principal of a non-public call. Throws DomainError `unauthenticated` if there is none. */
export function principalOf(context: { readonly values: ContextValues }): Principal {
  const principal = context.values.get(principalKey);
  if (principal === undefined)
    throw new DomainError("unauthenticated", "Authentication credentials were not provided.", {
      reason: "CREDENTIALS_MISSING",
    });
  return principal;
}
