import { randomBytes } from "node:crypto";
import type { AuthorizationAddresses } from "../authorization-address.ts";
import type { AuthorizationStore } from "./authorization-store.ts";

/** How long an address to authorise at is good, and how long a person may take at the third party. */
export const AUTHORIZATION_SECONDS = 600;

/** Where the addresses begin, below `PUBLIC_URL`. */
export const AUTHORIZATIONS_PATH = "/authorizations";

/** Makes the secrets of authorizations: what leads a browser to one, and what is kept of it. */
export interface AuthorizationSecrets {
  /** A new secret of 256 bits in base64url, for a ticket, a state or a PKCE verifier. */
  generate(): string;
  /** What is kept of a ticket or a state. One is never taken for the other. */
  hash(purpose: "ticket" | "state", secret: string): Uint8Array;
  /** The address that a ticket is handed out in. */
  addressOf(ticket: string): string;
}

/** Addresses over a store of tickets, of which it keeps hashes alone. */
export function createAuthorizationAddresses(deps: {
  readonly authorizations: Pick<AuthorizationStore, "issue">;
  readonly secrets: AuthorizationSecrets;
}): AuthorizationAddresses {
  return {
    async issue(accountId, connectionId) {
      const ticket = deps.secrets.generate();
      const hash = deps.secrets.hash("ticket", ticket);
      const expiresAt = await deps.authorizations.issue(accountId, connectionId, hash, AUTHORIZATION_SECONDS);
      return expiresAt && { url: deps.secrets.addressOf(ticket), expiresAt };
    },
  };
}

const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** Whether a text has the form of a ticket or a state of ours. */
export function isSecret(text: string): boolean {
  return SECRET.test(text);
}

/** Secrets for one `PUBLIC_URL`; `hashSecret` is keyed. */
export function createAuthorizationSecrets(deps: {
  readonly publicUrl: string;
  readonly hashSecret: (secret: string) => Uint8Array;
}): AuthorizationSecrets {
  return {
    generate: () => randomBytes(32).toString("base64url"),
    // The NUL keeps the purposes apart, and both from every other secret hashed with the same key.
    hash: (purpose, secret) => deps.hashSecret(`authorization ${purpose}\0${secret}`),
    addressOf: (ticket) => `${deps.publicUrl}${AUTHORIZATIONS_PATH}/${ticket}`,
  };
}
