import { requestToken, type IssuedToken, type TokenRequest } from "./token-request.ts";
import type { TokenSource } from "./token-source.ts";

/** The client that requests tokens, and the service's address. */
export interface ClientCredentialsOptions extends TokenRequest {
  /** The clock, in milliseconds. Default: the system's clock. */
  readonly now?: () => number;
}

/** A token is renewed when this share of its lifetime remains, or one minute before it expires if that is later. */
const RENEW_SHARE = 0.2;
const RENEW_AHEAD_MS = 60_000;
/** How long to wait after a failed renewal while the old token is still valid. */
const RENEWAL_REST_MS = 5_000;

interface Held extends IssuedToken {
  readonly renewAt: number;
  readonly expiresAt: number;
}

/**
 * Creates a source of tokens by OAuth client credentials. Tokens are cached and renewed in the background before they
 * expire. Concurrent callers share one request. Fails with `TokenError`, or with the error of `fetch`.
 */
export function createClientCredentials(options: ClientCredentialsOptions): TokenSource {
  const now = options.now ?? Date.now;
  let held: Held | undefined;
  let pending: Promise<Held> | undefined;

  async function ask(): Promise<Held> {
    const askedAt = now();
    const issued = await requestToken(options);
    const lifetimeMs = issued.expiresInSeconds * 1000;
    const expiresAt = askedAt + lifetimeMs;
    held = { ...issued, expiresAt, renewAt: expiresAt - Math.min(RENEW_AHEAD_MS, lifetimeMs * RENEW_SHARE) };
    return held;
  }

  function askOnce(): Promise<Held> {
    pending ??= ask().finally(() => {
      pending = undefined;
    });
    return pending;
  }

  function renewBehind(old: Held): void {
    askOnce().catch(() => {
      if (held === old) held = { ...old, renewAt: now() + RENEWAL_REST_MS };
    });
  }

  return {
    token: async () => {
      const known = held;
      if (known === undefined || now() >= known.expiresAt) return (await askOnce()).accessToken;
      if (now() >= known.renewAt && pending === undefined) renewBehind(known);
      return known.accessToken;
    },
    renew: async (refused) => {
      // Another caller may have renewed the token already.
      if (held !== undefined && held.accessToken !== refused) return held.accessToken;
      return (await askOnce()).accessToken;
    },
  };
}
