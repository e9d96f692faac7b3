import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { Target } from "../target.ts";
import { orAborted } from "../or-aborted.ts";
import {
  type AuthorizationTerms,
  type IssuedTokens,
  type AuthorizationNeed,
  NOT_YET_AUTHORIZED,
} from "../authorization.ts";
import { type UpstreamGrant, type UpstreamGrantStore, type Renewal, toStoredTokens } from "./grant.ts";
import type { RenewalSlots } from "./renewal-slots.ts";
import { TokenFailure } from "./token-failure.ts";

/** Supplies the access tokens of owners' logins. */
export interface GrantedTokens {
  /**
   * Returns the current token for a request to that origin. A valid cached token is returned synchronously, without a
   * query. Throws TokenFailure, of kind `ended` when the owner must log in.
   */
  current(target: Target, origin: string, signal: AbortSignal): string | Promise<string>;
  /** Replaces a rejected token that had not expired. Throws TokenFailure. */
  renewed(target: Target, origin: string, refused: string, signal: AbortSignal): Promise<string>;
  /**
   * Asks the owner for a scope that a call lacked. `reason` is a public sentence. The current authorization stays
   * usable.
   */
  extend(target: Target, scope: string, reason: string): Promise<void>;
  forget(connectionId: number): void;
}

export interface GrantedTokensDeps {
  readonly store: UpstreamGrantStore;
  /** Requests another token from the authorization server. Throws TokenFailure, or the signal's reason. */
  readonly refresh: (terms: AuthorizationTerms, refreshToken: string, signal: AbortSignal) => Promise<IssuedTokens>;
  /** Asks the owner to authorize the connection again. */
  readonly requireAuthorization: (target: Target, need: AuthorizationNeed) => Promise<unknown>;
  readonly slots: RenewalSlots;
  readonly now?: () => number;
}

/** Cached tokens; an evicted one costs one query. */
const MAX_CONNECTIONS = 20_000;
/** Milliseconds for one renewal, independent of its callers' deadlines. */
const TIMEOUT_MS = 15_000;
/**
 * A token is renewed this long before it expires: five minutes, or a fifth of a shorter lifetime, with jitter per
 * replica.
 */
const RENEWAL_LEAD_MS = 300_000;
const RENEWAL_LEAD_SHARE = 0.2;
/** A token this close to its expiry is not sent: three seconds, or a twentieth of a shorter lifetime. */
const TRANSIT_MS = 3_000;
const TRANSIT_SHARE = 0.05;
/** Milliseconds before retrying a failed renewal; doubles up to the maximum. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** Milliseconds between replacements for a server that rejects each new token. */
const REFUSED_PAUSE_MS = 30_000;
/** Milliseconds before the owner is asked again for the same scope. */
const EXTEND_PAUSE_MS = 60_000;

/** The refresh token stays encrypted in the database. */
interface CachedToken {
  /** The vendor's name, used in messages. */
  readonly title: string;
  readonly token: string;
  readonly audience: string;
  readonly renewAtMs: number;
  readonly validUntilMs: number;
}

interface GrantState {
  readonly keyVersion: number;
  cached: CachedToken | undefined;
  running: Promise<CachedToken> | undefined;
  /** Consecutive temporary failures. */
  failures: number;
  failure: TokenFailure | undefined;
  retryAtMs: number;
  /** When a rejected token was last replaced. */
  refusedAtMs: number;
  extended: { readonly scope: string; readonly atMs: number } | undefined;
}

export function createGrantedTokens(deps: GrantedTokensDeps): GrantedTokens {
  const { store, slots, now = Date.now } = deps;
  const states = new LRUCache<number, GrantState>(atMost(MAX_CONNECTIONS));

  function stateOf({ connectionId, keyVersion }: Target): GrantState {
    const known = states.get(connectionId);
    // Callers with an earlier version of the connection use the later version's grant.
    if (known !== undefined && known.keyVersion >= keyVersion) return known;
    const fresh: GrantState = {
      keyVersion,
      cached: undefined,
      running: undefined,
      failures: 0,
      failure: undefined,
      retryAtMs: 0,
      refusedAtMs: Number.NEGATIVE_INFINITY,
      extended: undefined,
    };
    states.set(connectionId, fresh);
    return fresh;
  }

  async function requireLogin(target: Target, reason: string): Promise<never> {
    await deps.requireAuthorization(target, { reason });
    throw new TokenFailure("ended", reason);
  }

  function cache(state: GrantState, { tokens, terms }: UpstreamGrant): CachedToken {
    const { expiresAtMs = Number.POSITIVE_INFINITY, accessToken, refreshToken } = tokens;
    const leftMs = expiresAtMs - now();
    const renewAtMs = Math.min(RENEWAL_LEAD_MS, leftMs * RENEWAL_LEAD_SHARE) * (0.75 + Math.random() / 2);
    state.cached = {
      title: terms.title,
      token: accessToken,
      audience: terms.audience,
      // Without a refresh token there is nothing to renew.
      renewAtMs: refreshToken === undefined ? Number.POSITIVE_INFINITY : expiresAtMs - renewAtMs,
      validUntilMs: expiresAtMs - Math.min(TRANSIT_MS, leftMs * TRANSIT_SHARE),
    };
    return state.cached;
  }

  /** Returns a grant that can be used or renewed; otherwise asks the owner to log in. */
  async function usableGrant(target: Target, grant: UpstreamGrant | undefined): Promise<UpstreamGrant> {
    if (grant === undefined || grant.keyVersion < target.keyVersion) return requireLogin(target, NOT_YET_AUTHORIZED);
    return grant.lostReason === undefined ? grant : requireLogin(target, grant.lostReason);
  }

  /** A final refusal is stored, so that no other replica asks again. */
  async function renewGrant({ terms, tokens }: UpstreamGrant): Promise<Renewal> {
    const { refreshToken, scope } = tokens;
    if (refreshToken === undefined) {
      const reason = `${terms.title} limits how long an authorization is valid, and this one has expired: authorize the connection again.`;
      return { kind: "lost", reason };
    }
    const requestedAtMs = now();
    try {
      const issued = await deps.refresh(terms, refreshToken, AbortSignal.timeout(TIMEOUT_MS));
      return { kind: "renewed", tokens: toStoredTokens({ ...issued, scope: issued.scope ?? scope }, requestedAtMs) };
    } catch (error) {
      if (error instanceof TokenFailure && error.kind === "ended") return { kind: "lost", reason: error.message };
      if (error instanceof TokenFailure) throw error;
      const { host } = new URL(terms.server.tokenEndpoint);
      throw new TokenFailure("down", `${terms.title} (${host}) gave no new token in time; try again later.`, {
        cause: error,
      });
    }
  }

  /** Returns a token other than `other`: the stored one if it is newer, or a renewed one. */
  async function obtain(target: Target, state: GrantState, other: string | undefined): Promise<CachedToken> {
    const { accountId, connectionId } = target;
    const grant = await usableGrant(target, await store.find(accountId, connectionId));
    if (grant.tokens.accessToken !== other) {
      const cached = cache(state, grant);
      if (now() < cached.validUntilMs) return cached;
    }
    if (state.failure !== undefined && now() < state.retryAtMs) throw state.failure;
    const { origin } = new URL(grant.terms.server.tokenEndpoint);
    const after = await slots.run(origin, () => store.renew(accountId, connectionId, grant.version, renewGrant));
    return cache(state, await usableGrant(target, after));
  }

  async function trackFailures(state: GrantState, work: Promise<CachedToken>): Promise<CachedToken> {
    try {
      const cached = await work;
      state.failures = 0;
      state.failure = undefined;
      return cached;
    } catch (error) {
      if (error === state.failure) throw error;
      const failure = error instanceof TokenFailure && error.kind !== "ended" ? error : undefined;
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** state.failures, MAX_PAUSE_MS);
      state.failures += 1;
      state.failure = failure;
      state.retryAtMs = now() + (failure?.retryAfterMs ?? pauseMs);
      throw error;
    } finally {
      state.running = undefined;
    }
  }

  /** Concurrent callers share one renewal. */
  function obtainOnce(target: Target, state: GrantState, other: string | undefined): Promise<CachedToken> {
    state.running ??= trackFailures(state, obtain(target, state, other));
    return state.running;
  }

  async function waitForToken(target: Target, origin: string, signal: AbortSignal): Promise<string> {
    const state = stateOf(target);
    return tokenFor(origin, await orAborted(obtainOnce(target, state, undefined), signal));
  }

  async function replaceToken(
    target: Target,
    state: GrantState,
    refused: string,
    signal: AbortSignal,
  ): Promise<CachedToken> {
    const running = state.running === undefined ? undefined : await orAborted(state.running, signal);
    if (running !== undefined && running.token !== refused) return running;
    if (now() - state.refusedAtMs < REFUSED_PAUSE_MS) {
      const title = state.cached?.title ?? "The vendor";
      throw new TokenFailure("refused", `${title} rejects the tokens that it has just issued.`);
    }
    const cached = await orAborted(obtainOnce(target, state, refused), signal);
    state.refusedAtMs = now();
    return cached;
  }

  return {
    current(target, origin, signal) {
      const state = states.get(target.connectionId);
      const cached = state === undefined || state.keyVersion < target.keyVersion ? undefined : state.cached;
      if (state === undefined || cached === undefined) return waitForToken(target, origin, signal);
      const nowMs = now();
      if (nowMs >= cached.validUntilMs) return waitForToken(target, origin, signal);
      if (nowMs >= cached.renewAtMs && nowMs >= state.retryAtMs && state.running === undefined) {
        // Renewed in the background; after a failure there is time for another attempt.
        obtainOnce(target, state, cached.token).catch(() => undefined);
      }
      return tokenFor(origin, cached);
    },
    async renewed(target, origin, refused, signal) {
      const state = stateOf(target);
      const { cached } = state;
      // Another caller has already replaced the rejected token.
      if (cached !== undefined && cached.token !== refused && now() < cached.validUntilMs)
        return tokenFor(origin, cached);
      return tokenFor(origin, await replaceToken(target, state, refused, signal));
    },
    async extend(target, scope, reason) {
      const state = stateOf(target);
      const { extended } = state;
      if (extended?.scope === scope && now() - extended.atMs < EXTEND_PAUSE_MS) return;
      state.extended = { scope, atMs: now() };
      const grant = await store.find(target.accountId, target.connectionId);
      const granted = grant?.tokens.scope ?? grant?.terms.scope ?? "";
      const wanted = new Set(`${granted} ${scope}`.split(" ").filter((word) => word !== ""));
      await deps.requireAuthorization(target, { reason, wantedScope: [...wanted].join(" ") });
    },
    forget: (connectionId) => void states.delete(connectionId),
  };
}

/** Tokens are sent only to the origin that they were issued for. */
function tokenFor(origin: string, { audience, title, token }: CachedToken): string {
  if (audience === origin) return token;
  throw new TokenFailure(
    "other",
    `The authorization for ${title} is good at ${audience} alone: nothing was sent to ${origin}.`,
  );
}
