import type { Actor } from "../actor.ts";
import type { Scope } from "../scopes.ts";

/** A personal access token without its text, which is kept nowhere. */
export interface PersonalAccessToken {
  readonly accountId: string;
  /** The `jti`, `pat_<token_identifier>`. */
  readonly id: string;
  /** `pat_<random_string>` */
  readonly clientId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The one connection it sees; undefined for all of the account. */
  readonly connectionId: number | undefined;
  readonly createdAt: Date;
  /** Undefined for a token without an end. */
  readonly expiresAt: Date | undefined;
  readonly revokedAt: Date | undefined;
  /** When it was last used, give or take some minutes; undefined before the first use. */
  readonly lastUsedAt: Date | undefined;
  /** The token that a rotation put in its place. */
  readonly replacedBy: string | undefined;
}

/** Which tokens of an account to list. */
export interface TokenSelection {
  /** Only tokens bound to one of these connections. Undefined means all tokens. */
  readonly connectionIds: readonly number[] | undefined;
  /** Whether those that are revoked or have ended are meant too. */
  readonly includesEnded: boolean;
}

/** Where personal access tokens are kept. What changes one writes down who did it. */
export interface PersonalAccessTokenStore {
  /**
   * False when the connection it is bound to is not one of the account. Throws `exhausted` when the account has `limit`
   * tokens in use.
   */
  insert(token: PersonalAccessToken, limit: number, actor: Actor): Promise<boolean>;
  find(accountId: string, id: string): Promise<PersonalAccessToken | undefined>;
  /** All of the account's, oldest first. */
  list(accountId: string): Promise<readonly PersonalAccessToken[]>;
  /** A page of them, oldest first. */
  listPage(
    accountId: string,
    selection: TokenSelection,
    limit: number,
    offset: number,
  ): Promise<{ readonly tokens: readonly PersonalAccessToken[]; readonly totalCount: number }>;
  /** Stores `fresh` in the place of the token, which then holds for `graceSeconds`. False when it is not in use. */
  rotate(
    accountId: string,
    id: string,
    fresh: PersonalAccessToken,
    graceSeconds: number,
    actor: Actor,
  ): Promise<boolean>;
  /** Marks the token and revokes it, in one transaction. False when the account has no token in use with the id. */
  revoke(accountId: string, id: string, actor: Actor): Promise<boolean>;
  /** Whose token it is: for the operator, who names no account. Undefined when no token in use has the id. */
  findOwner(id: string): Promise<string | undefined>;
  /** When the token ends, if it exists, is not revoked, has not ended and its account is in use; undefined otherwise. */
  findUse(
    accountId: string,
    id: string,
    clientId: string,
  ): Promise<{ readonly expiresAt: Date | undefined } | undefined>;
  /** Notes that tokens were used just now; those noted within five minutes are left as they are. */
  touch(used: readonly { readonly accountId: string; readonly id: string }[]): Promise<void>;
}
