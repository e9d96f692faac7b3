import { DomainError } from "../../domain-error.ts";
import type { JsonObject } from "../../json.ts";
import { type Account, accountLabel } from "../account.ts";
import { OPERATOR } from "../actor.ts";
import { grantableScopes } from "../grantable-scopes.ts";
import { hashSecret } from "../hash-secret.ts";
import type { ClientAuthMethod, OAuthClientStore } from "./oauth-client.ts";
import { randomId, randomSecret } from "../random.ts";
import type { Scope } from "../scopes.ts";
import type { Micros } from "../token-id.ts";

/** A client as the token endpoint needs it, read by one query so that scopes and `issuedAt` are consistent. */
export interface TokenClient {
  readonly accountId: string;
  /** The member whom its tokens act for. Undefined in a person's account, and for a client of an organization itself. */
  readonly memberId: string | undefined;
  readonly clientId: string;
  /** The only connection of its tokens, for a connection's own client. */
  readonly connectionId: number | undefined;
  /** Undefined for a connection's client before it has a secret, and for clients without one. */
  readonly secretHash: Uint8Array | undefined;
  /** The secret before the last rotation, during its grace time. */
  readonly previousSecretHash: Uint8Array | undefined;
  readonly scopes: readonly Scope[];
  /** The display name, possibly empty. */
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly grantTypes: readonly string[];
  readonly tokenEndpointAuthMethod: ClientAuthMethod;
  /** Public keys of a client that signs assertions, inline or by address. */
  readonly jwks: JsonObject | undefined;
  readonly jwksUri: string | undefined;
  /** The issue instant of a token with these scopes: later than every revocation that this query has seen. */
  readonly issuedAt: Micros;
}

/** Reads clients for the token endpoint and the operator; `OAuthClientStore` is for their owners. */
export interface ClientStore {
  /** Returns a client unless it is revoked or its account is disabled. */
  findForToken(clientId: string): Promise<TokenClient | undefined>;
  /** Returns the account id of an active client, for the operator. */
  findOwner(clientId: string): Promise<string | undefined>;
}

/** The maximum number of active clients per account, excluding those of its connections. */
export const MAX_CLIENTS = 1_000;

/** A new client. The secret is stored as a hash only, so it cannot be shown again. */
export interface CreatedClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The operator's use cases; those of owners are in `own-clients.ts`. */
export interface OAuthClients {
  /** Throws `invalid` for scopes that the account's clients cannot have. */
  create(account: Account, scope: string): Promise<CreatedClient>;
  /** Revokes the client and all its tokens. Throws `not_found` if it does not exist. */
  revoke(clientId: string): Promise<void>;
}

export function createOAuthClients({
  store,
  pepper,
}: {
  readonly store: ClientStore & Pick<OAuthClientStore, "insert" | "revoke">;
  readonly pepper: Uint8Array;
}): OAuthClients {
  return {
    async create(account, scope) {
      if (account.disabledAt !== undefined)
        throw new DomainError("conflict", `The account ${accountLabel(account)} is disabled.`);
      const clientId = randomId("client_");
      const clientSecret = randomSecret();
      const registration = {
        name: "",
        scopes: grantableScopes(account, scope),
        redirectUris: [],
        grantTypes: ["client_credentials" as const],
        tokenEndpointAuthMethod: "client_secret_basic" as const,
        jwks: undefined,
        jwksUri: undefined,
      };
      const secretHash = hashSecret(pepper, clientSecret);
      await store.insert(
        { ...registration, accountId: account.id, memberId: undefined, id: clientId, secretHash },
        MAX_CLIENTS,
        OPERATOR,
      );
      return { clientId, clientSecret };
    },
    async revoke(clientId) {
      const accountId = await store.findOwner(clientId);
      if (accountId === undefined || !(await store.revoke(accountId, clientId, OPERATOR)))
        throw new DomainError("not_found", `There is no active client ${clientId}.`);
    },
  };
}
