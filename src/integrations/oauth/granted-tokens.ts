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

/** The access tokens that owners' logins brought, good whenever they are asked for, or a reason why there is none. */
export interface GrantedTokens {
  /**
   * The token in force, for a request to that origin. At once while it is good: then neither a promise nor the database is
   * touched. Throws TokenFailure, of kind `ended` once its owner is asked to log in.
   */
  current(target: Target, origin: string, signal: AbortSignal): string | Promise<string>;
  /** Another token than `refused`, which the third party did not take although it had not expired. Throws TokenFailure. */
  renewed(target: Target, origin: string, refused: string, signal: AbortSignal): Promise<string>;
  /**
   * Has the owner asked for what a call lacked: `scope` as the third party named it, `reason` in a public sentence. What the
   * authorization reaches already stays in use.
   */
  extend(target: Target, scope: string, reason: string): Promise<void>;
  /** Forgets what is kept in memory for a connection. */
  forget(connectionId: number): void;
}

/** What the tokens of one kind of third parties need. */
export interface GrantedTokensDeps {
  readonly store: UpstreamGrantStore;
  /** Asks the authorization server for another token. Throws TokenFailure, or the signal's reason. */
  readonly refresh: (terms: AuthorizationTerms, refreshToken: string, signal: AbortSignal) => Promise<IssuedTokens>;
  /** Has the owner authorise the connection anew. */
  readonly requireAuthorization: (target: Target, need: AuthorizationNeed) => Promise<unknown>;
  readonly slots: RenewalSlots;
  readonly now?: () => number;
}

/** Connections whose tokens are kept; forgetting one costs a query. */
const MAX_CONNECTIONS = 20_000;
/** For one renewal, however long the callers would wait, in milliseconds. */
const TIMEOUT_MS = 15_000;
/** A token is renewed when so much of its life is left: five minutes, a fifth of a short one; each replica a little apart. */
const RENEWAL_LEAD_MS = 300_000;
const RENEWAL_LEAD_SHARE = 0.2;
/** A token with so little left may expire on its way: three seconds, a twentieth of a short one. */
const TRANSIT_MS = 3_000;
const TRANSIT_SHARE = 0.05;
/** After a renewal that failed the next one waits, twice as long each time. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** A third party that refuses one fresh token after the other is not given ever more of them. */
const REFUSED_PAUSE_MS = 30_000;
/** How long a call that lacked a scope is not told again, in milliseconds. */
const EXTEND_PAUSE_MS = 60_000;

/** A token in memory. Its refresh token stays sealed in the database. */
interface CachedToken {
  /** The third party, as its name appears in sentences. */
  readonly title: string;
  readonly token: string;
  readonly audience: string;
  readonly renewAtMs: number;
  readonly validUntilMs: number;
}

/** What is known of a connection under a version of its key. */
interface GrantState {
  readonly keyVersion: number;
  cached: CachedToken | undefined;
  running: Promise<CachedToken> | undefined;
  /** Renewals in a row that failed for a reason that may pass, the last such reason, and when the next one may be. */
  failures: number;
  failure: TokenFailure | undefined;
  retryAtMs: number;
  /** When a refused token was last replaced. */
  refusedAtMs: number;
  extended: { readonly scope: string; readonly atMs: number } | undefined;
}

/** Makes them: in memory for the calls, in the database for all replicas. */
export function createGrantedTokens(deps: GrantedTokensDeps): GrantedTokens {
  const { store, slots, now = Date.now } = deps;
  const states = new LRUCache<number, GrantState>(atMost(MAX_CONNECTIONS));

  function stateOf({ connectionId, keyVersion }: Target): GrantState {
    const known = states.get(connectionId);
    // Whoever still holds an earlier version of the connection is served by the grant of the later one.
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
      // Without a refresh token there is nothing to be done ahead of time.
      renewAtMs: refreshToken === undefined ? Number.POSITIVE_INFINITY : expiresAtMs - renewAtMs,
      validUntilMs: expiresAtMs - Math.min(TRANSIT_MS, leftMs * TRANSIT_SHARE),
    };
    return state.cached;
  }

  /** The grant if it can be used or renewed; otherwise its owner is asked to log in. */
  async function usableGrant(target: Target, grant: UpstreamGrant | undefined): Promise<UpstreamGrant> {
    if (grant === undefined || grant.keyVersion < target.keyVersion) return requireLogin(target, NOT_YET_AUTHORIZED);
    return grant.lostReason === undefined ? grant : requireLogin(target, grant.lostReason);
  }

  /** Asks for another token. An authorization that is over is stored as such, so that no other replica asks again. */
  async function renewGrant({ terms, tokens }: UpstreamGrant): Promise<Renewal> {
    const { refreshToken, scope } = tokens;
    if (refreshToken === undefined) {
      const reason = `${terms.title} lets an authorization be used for a limited time only, and that is over: authorise the connection again.`;
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

  /** Another token than `other`: what the database has by now, or a new one. */
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

  /** However many ask at once, one asks for all of them. */
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
      const title = state.cached?.title ?? "The third party";
      throw new TokenFailure("refused", `${title} refuses even the tokens that it has just given.`);
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
        // Nobody waits for it: should it fail, there is still time to try again.
        obtainOnce(target, state, cached.token).catch(() => undefined);
      }
      return tokenFor(origin, cached);
    },
    async renewed(target, origin, refused, signal) {
      const state = stateOf(target);
      const { cached } = state;
      // Somebody else was refused too and has a new one already.
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

/** A token goes to the origin that it was issued for, and to no other. */
function tokenFor(origin: string, { audience, title, token }: CachedToken): string {
  if (audience === origin) return token;
  throw new TokenFailure(
    "other",
    `The authorization for ${title} is good at ${audience} alone: nothing was sent to ${origin}.`,
  );
}
