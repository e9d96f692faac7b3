import { importJWK, SignJWT } from "jose";
import { DomainError, invalid } from "../domain-error.ts";
import type { Account } from "./accounts.ts";
import { grantableScopes } from "./grantable-scopes.ts";
import { randomId } from "./random.ts";
import type { Scope } from "./scopes.ts";
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
}

/** Where personal access tokens are kept. */
export interface PersonalAccessTokenStore {
  /** False when the connection it is bound to is not one of the account. */
  insert(token: PersonalAccessToken): Promise<boolean>;
  list(accountId: string): Promise<readonly PersonalAccessToken[]>;
  /** Marks the token and revokes it, in one transaction; gives its owner, or undefined when no token in use has the id. */
  revoke(id: string): Promise<{ readonly accountId: string } | undefined>;
  /** Whether the token exists, is not revoked, and its account is in use. */
  isHonoured(accountId: string, id: string, clientId: string): Promise<boolean>;
}

/** What a new token is to be. */
export interface PersonalAccessTokenRequest {
  readonly scope: string;
  readonly name: string;
  readonly connectionId: number | undefined;
  /** Undefined for a token without an end. */
  readonly expiresInDays: number | undefined;
}

/** The use cases of personal access tokens. */
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

/** The use cases of personal access tokens; `issuer` is `PUBLIC_URL` and their audience too. */
export function createPersonalAccessTokens(deps: {
  readonly store: PersonalAccessTokenStore;
  readonly keys: SigningKeys;
  readonly issuer: string;
}): PersonalAccessTokens {
  async function sign(token: PersonalAccessToken): Promise<string> {
    const key = deps.keys.current("personal_access_token");
    const claims = {
      scopes: token.scopes,
      scope: token.scopes.join(" "),
      client_id: token.clientId,
      token_use: "access",
      token_type: "pat",
      ...(token.connectionId === undefined ? {} : { mcp_server_id: token.connectionId }),
    };
    const jwt = new SignJWT(claims)
      .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: key.id })
      .setIssuer(deps.issuer)
      .setAudience(deps.issuer)
      .setSubject(token.accountId)
      .setJti(token.id)
      .setIssuedAt(token.createdAt);
    if (token.expiresAt !== undefined) jwt.setExpirationTime(token.expiresAt);
    return jwt.sign(await importJWK(key.privateJwk, "ES256"));
  }
  return {
    async create(account, { scope, name, connectionId, expiresInDays }) {
      if (account.disabledAt !== undefined)
        throw new DomainError("conflict", `The account ${account.email} is disabled.`);
      if (name.length > 255) throw invalid("name", "A name has at most 255 characters.");
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
      };
      if (!(await deps.store.insert(token))) {
        throw new DomainError("not_found", `MCP server ${connectionId} not found or not accessible`);
      }
      return { id: token.id, token: await sign(token) };
    },
    list: (account) => deps.store.list(account.id),
    async revoke(id) {
      if ((await deps.store.revoke(id)) === undefined) {
        throw new DomainError("not_found", `There is no personal access token ${id} in use.`);
      }
    },
  };
}
