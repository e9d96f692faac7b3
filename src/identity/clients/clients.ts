import { DomainError } from "../../domain-error.ts";
import type { JsonObject } from "../../json.ts";
import type { Account } from "../account.ts";
import { OPERATOR } from "../actor.ts";
import { grantableScopes } from "../grantable-scopes.ts";
import { hashSecret } from "../hash-secret.ts";
import type { ClientAuthMethod, OAuthClientStore } from "./oauth-client.ts";
import { randomId, randomSecret } from "../random.ts";
import type { Scope } from "../scopes.ts";
import type { Micros } from "../token-id.ts";

/** A client as the token endpoint needs it, read in one go so that its scopes and its moment belong together. */
export interface TokenClient {
  readonly accountId: string;
  readonly clientId: string;
  /** The one connection its tokens are bound to, for a connection's own client. */
  readonly connectionId: number | undefined;
  /** Undefined while a connection's own client has been given no secret, and for clients that need none. */
  readonly secretHash: Uint8Array | undefined;
  /** The secret before the last rotation, while it still holds. */
  readonly previousSecretHash: Uint8Array | undefined;
  readonly scopes: readonly Scope[];
  /** What people are shown. Empty when nobody named it. */
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly grantTypes: readonly string[];
  readonly tokenEndpointAuthMethod: ClientAuthMethod;
  /** The public keys of a client that signs its assertions, here or at an address. */
  readonly jwks: JsonObject | undefined;
  readonly jwksUri: string | undefined;
  /** The moment at which a token with these scopes counts as issued: after every revocation that this reading has seen. */
  readonly issuedAt: Micros;
}

/** Where OAuth clients are kept, as tokens and the operator need them; what their owners need is `OAuthClientStore`. */
export interface ClientStore {
  /** A client whose tokens would be honoured: neither it nor its account is revoked or disabled. */
  findForToken(clientId: string): Promise<TokenClient | undefined>;
  /** Whose client it is: for the operator, who names no account. Undefined when no client in use has the id. */
  findOwner(clientId: string): Promise<string | undefined>;
}

/** The most clients in use of an account, those of its connections aside. */
export const MAX_CLIENTS = 1_000;

/** A new client; the secret is in no other place and cannot be shown again. */
export interface CreatedClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The operator's use cases of OAuth clients. */
export interface OAuthClients {
  /** Fails with `invalid` for scopes that the account's clients cannot be given. */
  create(account: Account, scope: string): Promise<CreatedClient>;
  /** Ends a client: it gets no more tokens and those it has are refused. `not_found` when there is none. */
  revoke(clientId: string): Promise<void>;
}

/** The operator's use cases of OAuth clients; what their owners can do is in `own-clients.ts`. */
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
        throw new DomainError("conflict", `The account ${account.email} is disabled.`);
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
      await store.insert({ ...registration, accountId: account.id, id: clientId, secretHash }, MAX_CLIENTS, OPERATOR);
      return { clientId, clientSecret };
    },
    async revoke(clientId) {
      const accountId = await store.findOwner(clientId);
      if (accountId === undefined || !(await store.revoke(accountId, clientId, OPERATOR)))
        throw new DomainError("not_found", `There is no client ${clientId} in use.`);
    },
  };
}
