import { DomainError, invalid } from "../../domain-error.ts";
import { isLongerThan } from "../../text-length.ts";
import { type Account, accountLabel } from "../account.ts";
import { OPERATOR } from "../actor.ts";
import { grantableScopes } from "../grantable-scopes.ts";
import { randomId } from "../random.ts";
import { signPersonalAccessToken } from "./sign-personal-access-token.ts";
import type { SigningKeys } from "../keys/signing-keys.ts";
import { personalAccessTokenId } from "../token-id.ts";

import type { PersonalAccessToken, PersonalAccessTokenStore } from "./personal-access-token.ts";
/** The maximum number of active tokens per account. */
export const MAX_PERSONAL_ACCESS_TOKENS = 1_000;

export interface PersonalAccessTokenRequest {
  readonly scope: string;
  readonly name: string;
  readonly connectionId: number | undefined;
  /** Whom the token acts for in an organization. Required there, and absent elsewhere. */
  readonly memberId?: string | undefined;
  /** Undefined for a token that never expires. */
  readonly expiresInDays: number | undefined;
}

/** The operator's use cases; those of owners are in `own-tokens.ts`. */
export interface PersonalAccessTokens {
  /** Returns the token's text, which is not stored. */
  create(
    account: Account,
    request: PersonalAccessTokenRequest,
  ): Promise<{ readonly id: string; readonly token: string }>;
  list(account: Account): Promise<readonly PersonalAccessToken[]>;
  /** Throws `not_found` for a token that is not active. */
  revoke(id: string): Promise<void>;
}

const DAY_SECONDS = 86_400;

/** `issuer` is `PUBLIC_URL` and also the audience. */
export function createPersonalAccessTokens(deps: {
  readonly store: PersonalAccessTokenStore;
  readonly keys: SigningKeys;
  readonly issuer: string;
}): PersonalAccessTokens {
  return {
    async create(account, { scope, name, connectionId, memberId, expiresInDays }) {
      if (account.disabledAt !== undefined)
        throw new DomainError("conflict", `The account ${accountLabel(account)} is disabled.`);
      if ((account.kind === "organization") !== (memberId !== undefined))
        throw invalid("member", "A token for an organization, and only such a token, names the member it acts for.");
      if (isLongerThan(name, 255)) throw invalid("name", "name must have at most 255 characters.");
      const now = Date.now();
      const token: PersonalAccessToken = {
        accountId: account.id,
        memberId,
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
        throw new DomainError("not_found", `There is no active personal access token ${id}.`);
      }
    },
  };
}
