import type { JsonObject } from "../../json.ts";
import type { Actor } from "../actor.ts";
import type { Scope } from "../scopes.ts";

/** How a client shows that it is itself at the token endpoint (RFC 7591's words). */
export const CLIENT_AUTH_METHODS = ["client_secret_basic", "private_key_jwt", "none"] as const;

/** One of them. */
export type ClientAuthMethod = (typeof CLIENT_AUTH_METHODS)[number];

/** The ways of getting a token that a client may use (RFC 7591's words). */
export const GRANT_TYPES = ["client_credentials", "authorization_code", "refresh_token"] as const;

/** One of them. */
export type GrantType = (typeof GRANT_TYPES)[number];

/** What a client is registered with; none of it is secret. */
export interface ClientRegistration {
  /** What people call it. Empty when nobody named it. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly redirectUris: readonly string[];
  readonly grantTypes: readonly GrantType[];
  readonly tokenEndpointAuthMethod: ClientAuthMethod;
  /** The public keys of a client that signs its assertions, here or at an address. */
  readonly jwks: JsonObject | undefined;
  readonly jwksUri: string | undefined;
}

/** A client as its owner sees it. */
export interface OAuthClient extends ClientRegistration {
  readonly accountId: string;
  readonly id: string;
  /** The one connection whose own client it is. It is made, changed and deleted with the connection. */
  readonly connectionId: number | undefined;
  readonly hasSecret: boolean;
  readonly createdAt: Date;
  readonly secretRotatedAt: Date | undefined;
  /** Until when the secret before the last rotation holds; undefined when none does. */
  readonly previousSecretUntil: Date | undefined;
  readonly revokedAt: Date | undefined;
}

/** A client about to be stored. */
export interface NewOAuthClient extends ClientRegistration {
  readonly accountId: string;
  readonly id: string;
  /** Undefined for clients that authenticate otherwise or not at all. */
  readonly secretHash: Uint8Array | undefined;
}

/** Which clients of an account to list. */
export interface ClientSelection {
  /** Only the own clients of these connections. Undefined means all clients. */
  readonly connectionIds: readonly number[] | undefined;
  readonly includesRevoked: boolean;
}

/** Clients at rest, for their owners. What changes one writes down who did it. */
export interface OAuthClientStore {
  /** Throws `exhausted` when the account has `limit` clients in use that belong to no connection. */
  insert(client: NewOAuthClient, limit: number, actor: Actor): Promise<OAuthClient>;
  find(accountId: string, id: string): Promise<OAuthClient | undefined>;
  /** Oldest first. */
  list(
    accountId: string,
    selection: ClientSelection,
    limit: number,
    offset: number,
  ): Promise<{ readonly clients: readonly OAuthClient[]; readonly totalCount: number }>;
  /** Undefined when the account has no such client in use. `changed` names the fields that differ. */
  update(
    accountId: string,
    id: string,
    change: Pick<ClientRegistration, "name" | "redirectUris">,
    changed: readonly string[],
    actor: Actor,
  ): Promise<OAuthClient | undefined>;
  /** The old secret holds for `graceSeconds`; with 0 everything that was got with it ends. Undefined as for `update`. */
  rotateSecret(
    accountId: string,
    id: string,
    secretHash: Uint8Array,
    graceSeconds: number,
    actor: Actor,
  ): Promise<OAuthClient | undefined>;
  /** Ends the client, its tokens and its sessions. False when the account has no such client in use. */
  revoke(accountId: string, id: string, actor: Actor): Promise<boolean>;
}
