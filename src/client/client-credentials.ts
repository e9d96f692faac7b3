import { requestToken, type IssuedToken, type TokenRequest } from "./token-request.ts";
import type { TokenSource } from "./token-source.ts";

/** Which client asks for tokens, and where. */
export interface ClientCredentialsOptions extends TokenRequest {
  /** The clock, in milliseconds; the system's unless told. */
  readonly now?: () => number;
}

/** A token is renewed when this share of its life is left, and a minute before its end at the latest asked for. */
const RENEW_SHARE = 0.2;
const RENEW_AHEAD_MS = 60_000;
/** How long a failed renewal rests while the old token is still good. */
const RENEWAL_REST_MS = 5_000;

interface Held extends IssuedToken {
  readonly renewAt: number;
  readonly expiresAt: number;
}

/**
 * Tokens by OAuth client credentials: kept until shortly before they expire, then renewed in the background; however many
 * callers wait for one, it is asked for once. Its failures are `TokenError`, or what `fetch` fails with.
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
      // Another caller may have brought the new one while this one's request was on its way.
      if (held !== undefined && held.accessToken !== refused) return held.accessToken;
      return (await askOnce()).accessToken;
    },
  };
}
