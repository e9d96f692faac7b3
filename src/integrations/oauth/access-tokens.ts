import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { Target } from "../target.ts";
import { orAborted } from "../or-aborted.ts";

/** A bearer token as an authorization server gave it. */
export interface AccessToken {
  readonly value: string;
  /** From when it was asked for; undefined where the server does not say. */
  readonly lifetimeSeconds: number | undefined;
}

/** A credential that is got instead of configured: where tokens of a connection come from. */
export interface AccessTokenSource {
  /** What a token is for, beside the connection: another key, another token. No secret. */
  readonly key: string;
  /** Gets a new token. Throws TokenFailure, or the signal's reason. */
  obtain(signal: AbortSignal): Promise<AccessToken>;
}

/** Tokens of connections, got when they are needed and kept in memory while they are good. */
export interface AccessTokens {
  /** A token that is not about to expire. However many ask at once, the source is asked once. Throws TokenFailure. */
  current(target: Target, source: AccessTokenSource, signal: AbortSignal): Promise<string>;
  /** Another token than `refused`, which was not taken although it had not expired. Throws TokenFailure. */
  renewed(target: Target, source: AccessTokenSource, refused: string, signal: AbortSignal): Promise<string>;
  /** Forgets the tokens of a connection. */
  forget(connectionId: number): void;
}

/** Connections whose tokens are kept; forgetting one costs a request. */
const MAX_CONNECTIONS = 20_000;
/** How long a token is kept of which nobody says how long it is good. */
const DEFAULT_LIFETIME_SECONDS = 600;
/** What is left of a life when it counts as over: a minute, a tenth of a short one. */
const MARGIN_SECONDS = 60;
const MARGIN_SHARE = 0.1;
/** For getting one, however long the callers would wait, in milliseconds. */
const TIMEOUT_MS = 15_000;

interface CachedTokens {
  readonly keyVersion: number;
  readonly tokens: Map<string, { readonly value: string; readonly validUntilMs: number }>;
  readonly pending: Map<string, Promise<string>>;
}

/** Makes the memory of tokens: per connection and version of its key, so that none outlives what it was got with. */
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
    // Its own signal: whoever asked first may go away while others wait.
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
      // Somebody else was refused too and has a new one already.
      if (token !== undefined && token.value !== refused && now() < token.validUntilMs) return token.value;
      return obtainOnce(cached, source, signal);
    },
    forget: (connectionId) => void connections.delete(connectionId),
  };
}
