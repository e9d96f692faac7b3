import type { Actor } from "../actor.ts";
import type { Scope } from "../scopes.ts";

/** A personal access token without its text, which is not stored. */
export interface PersonalAccessToken {
  readonly accountId: string;
  /** The member it acts for in an organization. */
  readonly memberId: string | undefined;
  /** The `jti`, `pat_<token_identifier>`. */
  readonly id: string;
  readonly clientId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The only connection it can access; undefined for all of the account. */
  readonly connectionId: number | undefined;
  readonly createdAt: Date;
  /** Undefined for a token that never expires. */
  readonly expiresAt: Date | undefined;
  readonly revokedAt: Date | undefined;
  /** The last use, accurate to some minutes; undefined before the first use. */
  readonly lastUsedAt: Date | undefined;
  /** The token that replaced it in a rotation. */
  readonly replacedBy: string | undefined;
}

export interface TokenSelection {
  /** Only tokens bound to one of these connections. Undefined means all tokens. */
  readonly connectionIds: readonly number[] | undefined;
  /** Only tokens of this member. Undefined means all tokens. */
  readonly memberId: string | undefined;
  /** Whether to include revoked and expired tokens. */
  readonly includesEnded: boolean;
}

/** Stores personal access tokens. Every change writes its audit event in the same transaction. */
export interface PersonalAccessTokenStore {
  /**
   * Returns false if the bound connection does not belong to the account. Throws `exhausted` if the account, or the
   * member in it, has `limit` active tokens.
   */
  insert(token: PersonalAccessToken, limit: number, actor: Actor): Promise<boolean>;
  find(accountId: string, id: string): Promise<PersonalAccessToken | undefined>;
  /** Oldest first. */
  list(accountId: string): Promise<readonly PersonalAccessToken[]>;
  /** Oldest first. */
  listPage(
    accountId: string,
    selection: TokenSelection,
    limit: number,
    offset: number,
  ): Promise<{ readonly tokens: readonly PersonalAccessToken[]; readonly totalCount: number }>;
  /** Stores `fresh`; the old token stays valid for `graceSeconds`. Returns false if the old one is not active. */
  rotate(
    accountId: string,
    id: string,
    fresh: PersonalAccessToken,
    graceSeconds: number,
    actor: Actor,
  ): Promise<boolean>;
  /** Revokes the token. Returns false if the account has no such active token. */
  revoke(accountId: string, id: string, actor: Actor): Promise<boolean>;
  /** Returns the account id of an active token, for the operator. */
  findOwner(id: string): Promise<string | undefined>;
  /** Returns the expiry of an active token of an active account; undefined otherwise. */
  findUse(
    accountId: string,
    id: string,
    clientId: string,
  ): Promise<{ readonly expiresAt: Date | undefined } | undefined>;
  /** Records uses; skips tokens whose last use was written within five minutes. */
  touch(used: readonly { readonly accountId: string; readonly id: string }[]): Promise<void>;
}
