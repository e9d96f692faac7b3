import { randomBytes } from "node:crypto";
import type { AuthorizationAddresses } from "../authorization-address.ts";
import type { AuthorizationStore } from "./authorization-store.ts";

/** How long an authorization address is valid, and how long the login at the upstream may take, in seconds. */
export const AUTHORIZATION_SECONDS = 600;

/** The path of the addresses below `PUBLIC_URL`. */
export const AUTHORIZATIONS_PATH = "/authorizations";

export interface AuthorizationSecrets {
  /** Returns a secret of 256 bits in base64url, for a ticket, a state or a PKCE verifier. */
  generate(): string;
  /** The stored hash of a ticket or a state. The purpose keeps the two distinct. */
  hash(purpose: "ticket" | "state", secret: string): Uint8Array;
  /** The URL that contains the ticket. */
  addressOf(ticket: string): string;
}

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

/** Whether a text has the format of a ticket or a state. */
export function isSecret(text: string): boolean {
  return SECRET.test(text);
}

/** `hashSecret` must be a keyed hash. */
export function createAuthorizationSecrets(deps: {
  readonly publicUrl: string;
  readonly hashSecret: (secret: string) => Uint8Array;
}): AuthorizationSecrets {
  return {
    generate: () => randomBytes(32).toString("base64url"),
    // The NUL separates the purposes from each other and from all other hashed secrets.
    hash: (purpose, secret) => deps.hashSecret(`authorization ${purpose}\0${secret}`),
    addressOf: (ticket) => `${deps.publicUrl}${AUTHORIZATIONS_PATH}/${ticket}`,
  };
}
