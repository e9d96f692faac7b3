import { DomainError, invalid } from "../domain-error.ts";
import { isLongerThan } from "../text-length.ts";
import type { Account } from "./accounts.ts";
import { type Actor, OPERATOR } from "./actor.ts";
import { grantableScopes } from "./grantable-scopes.ts";
import { randomId } from "./random.ts";
import type { Scope } from "./scopes.ts";
import { signPersonalAccessToken } from "./sign-personal-access-token.ts";
import type { SigningKeys } from "./signing-keys.ts";
import { personalAccessTokenId } from "./token-id.ts";

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

/** The most tokens in use of an account. */
export const MAX_PERSONAL_ACCESS_TOKENS = 1_000;

/** What a new token is to be. */
export interface PersonalAccessTokenRequest {
  readonly scope: string;
  readonly name: string;
  readonly connectionId: number | undefined;
  /** Undefined for a token without an end. */
  readonly expiresInDays: number | undefined;
}

/** The operator's use cases of personal access tokens; what their owners can do is in `own-tokens.ts`. */
export interface PersonalAccessTokens {
  /** The token's text is in no other place and cannot be shown again. */
  create(
    account: Account,
    request: PersonalAccessTokenRequest,
  ): Promise<{ readonly id: string; readonly token: string }>;
  list(account: Account): Promise<readonly PersonalAccessToken[]>;
  /** `not_found` when there is none in use. */
  revoke(id: string): Promise<void>;
}

const DAY_SECONDS = 86_400;

/** The operator's use cases of personal access tokens; `issuer` is `PUBLIC_URL` and their audience too. */
export function createPersonalAccessTokens(deps: {
  readonly store: PersonalAccessTokenStore;
  readonly keys: SigningKeys;
  readonly issuer: string;
}): PersonalAccessTokens {
  return {
    async create(account, { scope, name, connectionId, expiresInDays }) {
      if (account.disabledAt !== undefined)
        throw new DomainError("conflict", `The account ${account.email} is disabled.`);
      if (isLongerThan(name, 255)) throw invalid("name", "A name has at most 255 characters.");
      const now = Date.now();
      const token: PersonalAccessToken = {
        accountId: account.id,
        id: personalAccessTokenId(now * 1_000),
        clientId: randomId("pat_"),
        name,
        scopes: grantableScopes(account, scope),
        connectionId,
        createdAt: new Date(now),
        expiresAt: expiresInDays === undefined ? undefined : new Date(now + expiresInDays * DAY_SECONDS * 1_000),
        revokedAt: undefined,
        lastUsedAt: undefined,
        replacedBy: undefined,
      };
      if (!(await deps.store.insert(token, MAX_PERSONAL_ACCESS_TOKENS, OPERATOR))) {
        throw new DomainError("not_found", `MCP server ${connectionId} not found or not accessible`);
      }
      return { id: token.id, token: await signPersonalAccessToken(token, deps) };
    },
    list: (account) => deps.store.list(account.id),
    async revoke(id) {
      const accountId = await deps.store.findOwner(id);
      if (accountId === undefined || !(await deps.store.revoke(accountId, id, OPERATOR))) {
        throw new DomainError("not_found", `There is no personal access token ${id} in use.`);
      }
    },
  };
}
