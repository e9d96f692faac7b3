import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { Target } from "../target.ts";
import { orAborted } from "../or-aborted.ts";

export interface AccessToken {
  readonly value: string;
  /** Counted from the request; undefined when the server does not state it. */
  readonly lifetimeSeconds: number | undefined;
}

/** Requests tokens for a connection. */
export interface AccessTokenSource {
  /** Distinguishes tokens of one connection. Not a secret. */
  readonly key: string;
  /** Requests a new token. Throws TokenFailure, or the signal's reason. */
  obtain(signal: AbortSignal): Promise<AccessToken>;
}

/** Requests tokens on demand and caches them in memory. */
export interface AccessTokens {
  /** Returns a token that is not about to expire. Concurrent callers share one request. Throws TokenFailure. */
  current(target: Target, source: AccessTokenSource, signal: AbortSignal): Promise<string>;
  /** Replaces a rejected token that had not expired. Throws TokenFailure. */
  renewed(target: Target, source: AccessTokenSource, refused: string, signal: AbortSignal): Promise<string>;
  forget(connectionId: number): void;
}

/** Maximum number of cached connections; an evicted one costs a token request. */
const MAX_CONNECTIONS = 20_000;
/** Used when the server does not state a lifetime. */
const DEFAULT_LIFETIME_SECONDS = 600;
/** A token is replaced this long before it expires: a minute, or a tenth of a shorter lifetime. */
const MARGIN_SECONDS = 60;
const MARGIN_SHARE = 0.1;
/** Milliseconds for one token request, independent of its callers' deadlines. */
const TIMEOUT_MS = 15_000;

interface CachedTokens {
  readonly keyVersion: number;
  readonly tokens: Map<string, { readonly value: string; readonly validUntilMs: number }>;
  readonly pending: Map<string, Promise<string>>;
}

/** Caches tokens per connection and key version, so that no token outlives its key. */
export function createAccessTokens({ now = Date.now }: { readonly now?: () => number } = {}): AccessTokens {
  const connections = new LRUCache<number, CachedTokens>(atMost(MAX_CONNECTIONS));

  function cachedFor({ connectionId, keyVersion }: Target): CachedTokens {
    const known = connections.get(connectionId);
    if (known?.keyVersion === keyVersion) return known;
    const fresh: CachedTokens = { keyVersion, tokens: new Map(), pending: new Map() };
    connections.set(connectionId, fresh);
    return fresh;
  }

  async function obtain(cached: CachedTokens, source: AccessTokenSource): Promise<string> {
    const requestedAtMs = now();
    // An independent signal: the first caller may abort while others wait.
    const { value, lifetimeSeconds = DEFAULT_LIFETIME_SECONDS } = await source.obtain(AbortSignal.timeout(TIMEOUT_MS));
    const validSeconds = lifetimeSeconds - Math.min(MARGIN_SECONDS, lifetimeSeconds * MARGIN_SHARE);
    cached.tokens.set(source.key, { value, validUntilMs: requestedAtMs + validSeconds * 1_000 });
    return value;
  }

  async function obtainOnce(cached: CachedTokens, source: AccessTokenSource, signal: AbortSignal): Promise<string> {
    let running = cached.pending.get(source.key);
    if (running === undefined) {
      running = obtain(cached, source).finally(() => cached.pending.delete(source.key));
      cached.pending.set(source.key, running);
    }
    return orAborted(running, signal);
  }

  return {
    async current(target, source, signal) {
      const cached = cachedFor(target);
      const token = cached.tokens.get(source.key);
      if (token !== undefined && now() < token.validUntilMs) return token.value;
      return obtainOnce(cached, source, signal);
    },
    async renewed(target, source, refused, signal) {
      const cached = cachedFor(target);
      const token = cached.tokens.get(source.key);
      // Another caller has already replaced the rejected token.
      if (token !== undefined && token.value !== refused && now() < token.validUntilMs) return token.value;
      return obtainOnce(cached, source, signal);
    },
    forget: (connectionId) => void connections.delete(connectionId),
  };
}
