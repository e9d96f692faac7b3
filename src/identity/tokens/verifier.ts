import { decodeProtectedHeader, type JWTPayload, jwtVerify } from "jose";
import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import { DomainError } from "../../domain-error.ts";
import type { OAuthGrantStore } from "../grants/grants.ts";
import { createHeaderDigest } from "./header-digest.ts";
import type { PersonalAccessTokenStore } from "./personal-access-token.ts";
import type { Principal } from "../principal.ts";
import type { Revocations } from "../revocations/revocations.ts";
import { isOrganizationId } from "../organizations/organization.ts";
import { isOfEarlierMembership, type Membership, type Memberships } from "../organizations/memberships.ts";
import type { Role } from "../organizations/role.ts";
import { isScope, type Scope } from "../scopes.ts";
import type { KeyPurpose, SigningKeys } from "../keys/signing-keys.ts";

export interface TokenVerifier {
  /**
   * Returns no promise for a cached token while revocation notifications arrive. Throws `unauthenticated`, or
   * `unavailable` if a revocation can be neither confirmed nor excluded. `connection` identifies the network
   * connection, if there is one.
   */
  verify(
    authorization: string | undefined,
    audiences: readonly string[],
    connection?: object,
  ): Principal | Promise<Principal>;
}

/** "Bearer " and a token of at most 8 KiB. */
const MAX_HEADER_LENGTH = 7 + 8_192;

/** A compact JWS only: jose ignores trailing padding, which would allow several spellings of one token. */
const BEARER = /^Bearer ([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)$/i;

/** Any other header contains no bearer token: another scheme, the token alone, or the scheme alone. */
const HAS_BEARER = /^Bearer +[^ ]/i;

/** The accepted clock difference to the replica that issued the token. */
const CLOCK_SKEW_SECONDS = 5;

/** A personal access token is read again after this time, so that a lost notification cannot keep it valid. */
const PERSONAL_ACCESS_TOKEN_CACHE_MS = 60_000;

const CACHED_TOKENS = 10_000;

function missing(): DomainError {
  return new DomainError("unauthenticated", "Authentication credentials were not provided.", {
    reason: "CREDENTIALS_MISSING",
  });
}

function refused(cause?: unknown): DomainError {
  return new DomainError("unauthenticated", "Invalid or expired token.", { cause });
}

function isConnectionId(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1;
}

/**
 * Reads the claim `act` (RFC 8693), which tokens for an organization have: its subject is the member, or the client
 * itself for a client of the organization. Returns undefined for any other combination. The role of a member is the
 * lowest until the membership is read.
 */
function readActor(sub: string, clientId: string, act: unknown): Pick<Principal, "memberId" | "role"> | undefined {
  if (!isOrganizationId(sub)) return act === undefined ? { memberId: undefined, role: undefined } : undefined;
  const actor = typeof act === "object" && act !== null && "sub" in act ? act.sub : undefined;
  if (typeof actor !== "string") return undefined;
  return actor === clientId ? { memberId: undefined, role: "admin" } : { memberId: actor, role: "member" };
}

/** No role in an organization administers the installation. */
function isWithinRole(role: Role | undefined, scope: Scope): boolean {
  return role === undefined || scope !== "mgmt.admin";
}

/** Returns undefined if a claim is not as this service issues it. */
function toPrincipal(claims: JWTPayload, purpose: KeyPurpose, nowSeconds: number): Principal | undefined {
  const {
    sub,
    aud,
    iat,
    exp,
    jti,
    client_id: clientId,
    scopes,
    mcp_server_id: connectionId,
    grant_id: grantId,
    act,
  } = claims;
  const isPersonal = purpose === "personal_access_token";
  if (claims.token_use !== "access" || claims.token_type !== (isPersonal ? "pat" : "oauth")) return undefined;
  if (typeof sub !== "string" || typeof aud !== "string" || typeof jti !== "string" || typeof clientId !== "string")
    return undefined;
  if (!Number.isInteger(iat) || iat === undefined || iat > nowSeconds + CLOCK_SKEW_SECONDS) return undefined;
  if (exp === undefined ? !isPersonal : !Number.isInteger(exp) || exp <= nowSeconds) return undefined;
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === "string")) return undefined;
  if (connectionId !== undefined && !isConnectionId(connectionId)) return undefined;
  if (grantId !== undefined && typeof grantId !== "string") return undefined;
  const actor = readActor(sub, clientId, act);
  if (actor === undefined) return undefined;
  return {
    accountId: sub,
    ...actor,
    clientId,
    scopes: new Set(scopes.filter(isScope).filter((scope) => isWithinRole(actor.role, scope))),
    connectionId,
    grantId,
    connectionIds: undefined,
    tokenId: jti,
    audience: aud,
    issuedAt: iat,
    expiresAt: exp,
  };
}

/**
 * Verifies bearer tokens with this installation's keys only and checks every claim.
 *
 * Verified tokens are cached by the SHA-256 of their header; expiry, audience and revocation are checked on every
 * request. So is the membership of a person who acts in an organization, which adds no query for others. `issuer` is `PUBLIC_URL`; `now` is in milliseconds.
 */
export function createTokenVerifier(deps: {
  readonly issuer: string;
  readonly keys: SigningKeys;
  readonly revocations: Revocations;
  readonly personalAccessTokens: Pick<PersonalAccessTokenStore, "findUse">;
  readonly grants: Pick<OAuthGrantStore, "findReach">;
  readonly memberships: Pick<Memberships, "find">;
  readonly now?: () => number;
}): TokenVerifier {
  const now = deps.now ?? Date.now;
  const cache = new LRUCache<string, Principal>({ ...atMost(CACHED_TOKENS), perf: { now } });
  const byRole = new WeakMap<Principal, Principal>();
  const digest = createHeaderDigest();

  async function readToken(token: string): Promise<{ principal: Principal; purpose: KeyPurpose }> {
    try {
      const { kid } = decodeProtectedHeader(token);
      const key = kid === undefined ? undefined : await deps.keys.findVerificationKey(kid);
      if (key === undefined) throw new Error("the token is not signed with a key of this installation");
      const options = {
        algorithms: ["ES256"],
        typ: "at+jwt",
        issuer: deps.issuer,
        currentDate: new Date(now()),
        clockTolerance: 0,
      };
      const { payload } = await jwtVerify(token, key.publicKey, options);
      const principal = toPrincipal(payload, key.purpose, Math.floor(now() / 1_000));
      if (principal === undefined) throw new Error("a claim of the token has an unexpected value");
      return { principal, purpose: key.purpose };
    } catch (cause) {
      if (cause instanceof DomainError) throw cause;
      throw refused(cause);
    }
  }

  async function verifyNew(authorization: string, cacheKey: string, audiences: readonly string[]): Promise<Principal> {
    const token = BEARER.exec(authorization)?.[1];
    if (token === undefined) throw HAS_BEARER.test(authorization) ? refused() : missing();
    const { principal, purpose } = await readToken(token);
    if (purpose === "personal_access_token") {
      const { accountId, tokenId, clientId } = principal;
      const use = await deps.personalAccessTokens.findUse(accountId, tokenId, clientId);
      if (use === undefined) throw refused();
      // A replaced token expires earlier than its claim states.
      const ending = use.expiresAt === undefined ? undefined : Math.floor(use.expiresAt.getTime() / 1_000);
      const known = { ...principal, expiresAt: ending };
      cache.set(cacheKey, known, { ttl: PERSONAL_ACCESS_TOKEN_CACHE_MS });
      return admit(known, audiences);
    }
    const reaching = await reachOf(principal);
    cache.set(cacheKey, reaching);
    return admit(reaching, audiences);
  }

  /** Reads the grant's connections once per token, since a grant never changes. */
  async function reachOf(principal: Principal): Promise<Principal> {
    if (principal.grantId === undefined) return principal;
    const reach = await deps.grants.findReach(principal.accountId, principal.grantId);
    if (reach === undefined) throw refused();
    if (reach.memberId !== principal.memberId) throw refused();
    return { ...principal, connectionIds: reach.connectionIds };
  }

  function admit(principal: Principal, audiences: readonly string[]): Principal | Promise<Principal> {
    if (principal.expiresAt !== undefined && principal.expiresAt * 1_000 <= now()) throw refused();
    if (!audiences.includes(principal.audience)) throw refused();
    const isRevoked = deps.revocations.isRevoked(principal);
    if (isRevoked === false) return acting(principal);
    if (isRevoked === true) throw refused();
    return isRevoked.then((revoked) => {
      if (revoked) throw refused();
      return acting(principal);
    });
  }

  /** Returns a principal with its role at this request. */
  function acting(principal: Principal): Principal | Promise<Principal> {
    const { accountId, memberId } = principal;
    if (memberId === undefined) return principal;
    const membership = deps.memberships.find(accountId, memberId);
    if (!(membership instanceof Promise)) return withRole(principal, membership);
    return membership.then((found) => withRole(principal, found));
  }

  /** Returns the same object for the same role, because caches are keyed by it. */
  function withRole(principal: Principal, membership: Membership | undefined): Principal {
    if (membership === undefined || isOfEarlierMembership(principal, membership)) throw refused();
    if (membership.role === principal.role) return principal;
    const known = byRole.get(principal);
    if (known?.role === membership.role) return known;
    const promoted = { ...principal, role: membership.role };
    byRole.set(principal, promoted);
    return promoted;
  }

  return {
    verify(authorization, audiences, connection) {
      if (authorization === undefined || authorization === "") throw missing();
      if (authorization.length > MAX_HEADER_LENGTH) throw HAS_BEARER.test(authorization) ? refused() : missing();
      const cacheKey = digest(authorization, connection);
      const known = cache.get(cacheKey);
      return known === undefined ? verifyNew(authorization, cacheKey, audiences) : admit(known, audiences);
    },
  };
}
