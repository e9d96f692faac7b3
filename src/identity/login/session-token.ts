import { importJWK, SignJWT } from "jose";
import { DomainError, invalid } from "../../domain-error.ts";
import type { ActingAccount, ListActingAccounts } from "../oauth/acting-account.ts";
import { isScope, SCOPES, type Scope } from "../scopes.ts";
import type { SigningKeys } from "../keys/signing-keys.ts";
import { accessTokenId, type Micros } from "../token-id.ts";
import type { LoginSession } from "./login-session.ts";

/** Lifetime in seconds; the console requests a new token while the session lasts. */
const SESSION_TOKEN_SECONDS = 600;

/** An access token for this service's own pages, which call the API. */
export interface SessionToken {
  readonly access_token: string;
  readonly token_type: "Bearer";
  readonly expires_in: number;
  readonly scope: string;
}

/**
 * Issues an access token whose client is the session, so that ending the session revokes it. `scope` is
 * space-separated and empty for all scopes; `accountId` is the account to act for, by default the person's own. Throws
 * `invalid` for a scope that the account cannot have, and for an account of others.
 */
export type IssueSessionToken = (
  session: LoginSession,
  request?: { readonly scope?: string | undefined; readonly accountId?: string | undefined },
) => Promise<SessionToken>;

function grantedScopes({ isAdmin }: Pick<ActingAccount, "isAdmin">, scope: string | undefined): readonly Scope[] {
  const own = SCOPES.filter((candidate) => isAdmin || candidate !== "mgmt.admin");
  const words = (scope ?? "").split(" ").filter((word) => word !== "");
  if (words.length === 0) return own;
  const wrong = words.find((word) => !isScope(word) || !own.includes(word));
  if (wrong !== undefined) throw invalid("scope", `You cannot have the scope ${JSON.stringify(wrong.slice(0, 64))}.`);
  return own.filter((candidate) => words.includes(candidate));
}

/** `issuer` is `PUBLIC_URL` and also the audience. */
export function createIssueSessionToken(deps: {
  readonly issuer: string;
  readonly keys: SigningKeys;
  /** Returns the issue instant of a token; undefined if the session ended. */
  readonly issueTimestamp: (accountId: string, sessionId: string) => Promise<Micros | undefined>;
  readonly actingAccounts: ListActingAccounts;
}): IssueSessionToken {
  async function accountOf(
    session: LoginSession,
    wanted: string,
  ): Promise<Pick<ActingAccount, "memberId" | "isAdmin">> {
    if (wanted === session.accountId) return { memberId: undefined, isAdmin: session.isAdmin };
    const account = (await deps.actingAccounts(session)).find(({ accountId }) => accountId === wanted);
    if (account === undefined)
      throw invalid("account_id", `You cannot act for the account ${JSON.stringify(wanted.slice(0, 64))}.`);
    return account;
  }

  return async (session, { scope, accountId = session.accountId } = {}) => {
    const account = await accountOf(session, accountId);
    const scopes = grantedScopes(account, scope);
    const instant = await deps.issueTimestamp(session.accountId, session.id);
    if (instant === undefined) throw new DomainError("unauthenticated", "You are not logged in.");
    const key = deps.keys.current("access_token");
    const issuedAt = Math.floor(Date.now() / 1_000);
    const expiresAt = Math.min(issuedAt + SESSION_TOKEN_SECONDS, Math.floor(session.expiresAt.getTime() / 1_000));
    const claims = {
      client_id: session.id,
      scopes,
      scope: scopes.join(" "),
      token_use: "access",
      token_type: "oauth",
      ...(account.memberId !== undefined && { act: { sub: account.memberId } }),
    };
    const access_token = await new SignJWT(claims)
      .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: key.id })
      .setIssuer(deps.issuer)
      .setAudience(deps.issuer)
      .setSubject(accountId)
      .setJti(accessTokenId(instant))
      .setIssuedAt(issuedAt)
      .setExpirationTime(expiresAt)
      .sign(await importJWK(key.privateJwk, "ES256"));
    return { access_token, token_type: "Bearer", expires_in: expiresAt - issuedAt, scope: scopes.join(" ") };
  };
}
