import type { JsonObject } from "../../json.ts";
import type { Actor } from "../actor.ts";
import type { Scope } from "../scopes.ts";

/** Authentication methods at the token endpoint, as RFC 7591 names them. */
export const CLIENT_AUTH_METHODS = ["client_secret_basic", "private_key_jwt", "none"] as const;

export type ClientAuthMethod = (typeof CLIENT_AUTH_METHODS)[number];

/** Grant types, as RFC 7591 names them. */
export const GRANT_TYPES = ["client_credentials", "authorization_code", "refresh_token"] as const;

export type GrantType = (typeof GRANT_TYPES)[number];

/** A client's public registration, without secrets. */
export interface ClientRegistration {
  /** Possibly empty. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly redirectUris: readonly string[];
  readonly grantTypes: readonly GrantType[];
  readonly tokenEndpointAuthMethod: ClientAuthMethod;
  /** Public keys of a client that signs assertions, inline or by address. */
  readonly jwks: JsonObject | undefined;
  readonly jwksUri: string | undefined;
}

export interface OAuthClient extends ClientRegistration {
  readonly accountId: string;
  /** The member who holds it and ends with it. Undefined in a person's account, and for a client of an organization itself. */
  readonly memberId: string | undefined;
  readonly id: string;
  /** The connection that owns the client and is created, changed and deleted together with it. */
  readonly connectionId: number | undefined;
  readonly hasSecret: boolean;
  readonly createdAt: Date;
  readonly secretRotatedAt: Date | undefined;
  /** When the previous secret expires; undefined if there is none. */
  readonly previousSecretUntil: Date | undefined;
  readonly revokedAt: Date | undefined;
}

export interface NewOAuthClient extends ClientRegistration {
  readonly accountId: string;
  readonly memberId: string | undefined;
  readonly id: string;
  /** Undefined for clients without a secret. */
  readonly secretHash: Uint8Array | undefined;
}

export interface ClientSelection {
  /** Only the clients that these connections own. Undefined means all clients. */
  readonly connectionIds: readonly number[] | undefined;
  /** Only the clients of this member. Undefined means all clients. */
  readonly memberId: string | undefined;
  readonly includesRevoked: boolean;
}

/** Stores clients for their owners. Every change writes its audit event in the same transaction. */
export interface OAuthClientStore {
  /** Throws `exhausted` if the account, or the member in it, has `limit` active clients that belong to no connection. */
  insert(client: NewOAuthClient, limit: number, actor: Actor): Promise<OAuthClient>;
  find(accountId: string, id: string): Promise<OAuthClient | undefined>;
  /** Oldest first. */
  list(
    accountId: string,
    selection: ClientSelection,
    limit: number,
    offset: number,
  ): Promise<{ readonly clients: readonly OAuthClient[]; readonly totalCount: number }>;
  /** Returns undefined if the account has no such active client. `changed` names the fields that differ. */
  update(
    accountId: string,
    id: string,
    change: Pick<ClientRegistration, "name" | "redirectUris">,
    changed: readonly string[],
    actor: Actor,
  ): Promise<OAuthClient | undefined>;
  /**
   * Keeps the old secret valid for `graceSeconds`; 0 revokes everything issued with it. Returns undefined as `update`
   * does.
   */
  rotateSecret(
    accountId: string,
    id: string,
    secretHash: Uint8Array,
    graceSeconds: number,
    actor: Actor,
  ): Promise<OAuthClient | undefined>;
  /** Revokes the client, its tokens and its sessions. Returns false if the account has no such active client. */
  revoke(accountId: string, id: string, actor: Actor): Promise<boolean>;
}
