import { checkPage, DEFAULT_PAGE, type PageQuery } from "../../page.ts";
import { connectionNotFound, reachableId } from "../server-id.ts";
import { DomainError, invalid } from "../../domain-error.ts";
import type { AccountStore } from "../account.ts";
import { type Caller, toActor } from "../actor.ts";
import { checkClientName } from "../clients/client-registration.ts";
import { checkGrace } from "../grace.ts";
import { requireScopes, delegateScopes } from "../delegate-scopes.ts";
import { MAX_PERSONAL_ACCESS_TOKENS } from "./personal-access-tokens.ts";
import type { PersonalAccessToken, PersonalAccessTokenStore } from "./personal-access-token.ts";
import { isUnlimited, type Principal } from "../principal.ts";
import { randomId } from "../random.ts";
import { holds, onlyHolder, reachableConnections, reachesBound, seesHeld } from "../reach.ts";
import { signPersonalAccessToken } from "./sign-personal-access-token.ts";
import type { SigningKeys } from "../keys/signing-keys.ts";
import { personalAccessTokenId } from "../token-id.ts";

export interface TokenDraft {
  readonly name?: string | undefined;
  readonly scopes: readonly string[];
  /** The only connection it can access, in decimal. */
  readonly serverId?: string | undefined;
  /** The expiry as a timestamp or in days from now; neither for a token that never expires. */
  readonly expiresAt?: Date | undefined;
  readonly expiresInDays?: number | undefined;
}

/** A token with its text, which is not stored. */
export interface TokenWithText {
  readonly token: PersonalAccessToken;
  readonly text: string;
}

/**
 * Use cases for the personal access tokens of the caller's account. Throws `not_found` for a token that is missing, of
 * another account or not visible, and `forbidden` for giving scopes that the caller does not have. A caller limited to
 * some connections sees and creates only tokens bound to one of them.
 */
export interface OwnTokens {
  create(caller: Caller, draft: TokenDraft): Promise<TokenWithText>;
  list(
    principal: Principal,
    query: PageQuery & { readonly includeEnded?: boolean | undefined },
  ): Promise<{
    readonly tokens: readonly PersonalAccessToken[];
    readonly totalCount: number;
    readonly hasMore: boolean;
  }>;
  get(principal: Principal, id: string): Promise<PersonalAccessToken>;
  /** Creates a copy with the same lifetime; the old token stays valid for the grace time. */
  rotate(caller: Caller, id: string, graceSeconds: number | undefined): Promise<TokenWithText>;
  revoke(caller: Caller, id: string): Promise<void>;
}

const DAY_MS = 86_400_000;

/** A hundred years. */
const MAX_DAYS = 36_500;

/** `issuer` is `PUBLIC_URL`. */
export function createOwnTokens(deps: {
  readonly store: PersonalAccessTokenStore;
  readonly accounts: Pick<AccountStore, "findById">;
  readonly keys: Pick<SigningKeys, "current">;
  readonly issuer: string;
}): OwnTokens {
  const { store } = deps;

  async function get(principal: Principal, id: string): Promise<PersonalAccessToken> {
    const isPossibleId = /^pat_[0-9a-f]{32}$/.test(id);
    const token = isPossibleId ? await store.find(principal.accountId, id) : undefined;
    if (token === undefined || !reachesBound(principal, token.connectionId) || !seesHeld(principal, token))
      throw tokenNotFound(id);
    return token;
  }

  /** Returns undefined for a token that accesses all connections. */
  function boundConnectionId(caller: Caller, serverId: string | undefined): number | undefined {
    if (serverId !== undefined) {
      const id = reachableId(caller, serverId);
      if (id === undefined) throw connectionNotFound(serverId);
      return id;
    }
    if (isUnlimited(caller)) return undefined;
    throw new DomainError(
      "forbidden",
      "Your token does not access all connections, so it can create tokens only for one of them: name it in server_id.",
    );
  }

  return {
    async create(caller, draft) {
      const name = checkClientName(draft.name ?? "");
      const now = Date.now();
      const expiresAt = expiryOf(draft, now);
      const connectionId = boundConnectionId(caller, draft.serverId);
      if (caller.role !== undefined && caller.memberId === undefined)
        throw new DomainError("forbidden", "Only members of an organization can create personal access tokens in it.");
      const account = await deps.accounts.findById(caller.accountId);
      if (account === undefined) throw new DomainError("unauthenticated", "Invalid or expired token.");
      const scopes = delegateScopes(caller, account, draft.scopes);
      const token = newToken(
        { accountId: account.id, memberId: caller.memberId, clientId: randomId("pat_"), name, scopes, connectionId },
        now,
        expiresAt,
      );
      if (!(await store.insert(token, MAX_PERSONAL_ACCESS_TOKENS, toActor(caller))))
        throw connectionNotFound(draft.serverId ?? "");
      return { token, text: await signPersonalAccessToken(token, deps) };
    },

    async list(principal, query) {
      checkPage(query);
      const { limit = DEFAULT_PAGE, offset = 0 } = query;
      const selection = {
        connectionIds: reachableConnections(principal),
        memberId: onlyHolder(principal),
        includesEnded: query.includeEnded ?? false,
      };
      const { tokens, totalCount } = await store.listPage(principal.accountId, selection, limit, offset);
      return { tokens, totalCount, hasMore: offset + tokens.length < totalCount };
    },

    get,

    async rotate(caller, id, graceSeconds) {
      const grace = checkGrace(graceSeconds);
      const old = await get(caller, id);
      if (!holds(caller, old)) throw new DomainError("forbidden", "Only the member who holds the token can rotate it.");
      requireScopes(caller, old.scopes);
      const now = Date.now();
      const lifeMs = old.expiresAt === undefined ? undefined : old.expiresAt.getTime() - old.createdAt.getTime();
      const token = newToken(old, now, lifeMs === undefined ? undefined : new Date(now + lifeMs));
      if (!(await store.rotate(caller.accountId, id, token, grace, toActor(caller)))) throw tokenNotFound(id);
      return { token, text: await signPersonalAccessToken(token, deps) };
    },

    async revoke(caller, id) {
      await get(caller, id);
      if (!(await store.revoke(caller.accountId, id, toActor(caller)))) throw tokenNotFound(id);
    },
  };
}

function newToken(
  {
    accountId,
    memberId,
    clientId,
    name,
    scopes,
    connectionId,
  }: Pick<PersonalAccessToken, "accountId" | "memberId" | "clientId" | "name" | "scopes" | "connectionId">,
  now: number,
  expiresAt: Date | undefined,
): PersonalAccessToken {
  return {
    accountId,
    memberId,
    id: personalAccessTokenId(now * 1_000),
    clientId,
    name,
    scopes,
    connectionId,
    createdAt: new Date(now),
    expiresAt,
    revokedAt: undefined,
    lastUsedAt: undefined,
    replacedBy: undefined,
  };
}

function expiryOf({ expiresAt, expiresInDays }: TokenDraft, now: number): Date | undefined {
  if (expiresAt !== undefined && expiresInDays !== undefined)
    throw invalid("expires_at", "Supply either expires_at or expires_in_days.");
  if (expiresInDays !== undefined) {
    if (expiresInDays < 1 || expiresInDays > MAX_DAYS)
      throw invalid("expires_in_days", `expires_in_days must be from 1 to ${MAX_DAYS}.`);
    return new Date(now + expiresInDays * DAY_MS);
  }
  if (expiresAt === undefined) return undefined;
  const end = expiresAt.getTime();
  if (end <= now || end > now + MAX_DAYS * DAY_MS)
    throw invalid("expires_at", "expires_at must be in the future, at most 100 years from now.");
  // The `exp` claim has whole seconds.
  return new Date(Math.floor(end / 1_000) * 1_000);
}

/** Echoes at most 64 printable characters of the id. */
function tokenNotFound(id: string): DomainError {
  const shown = id.slice(0, 64).replace(/[^\x20-\x7e]/g, "?");
  return new DomainError("not_found", `Personal access token ${shown} not found or not accessible`);
}
