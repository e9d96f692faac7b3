import { LRUCache } from "lru-cache";
import { atMost } from "../at-most.ts";
import type { JsonObject } from "../json.ts";
import { errorResult, type CallResult } from "./tool.ts";

/** A vendor's rate limit, applied per connection. */
export interface UpstreamRateLimit {
  /** Distinguishes the limits of an integration. */
  readonly id: string;
  /** Requests per sliding window of `windowMs`. */
  readonly requests: number;
  readonly windowMs: number;
  /** The argument whose values are counted separately; undefined counts all calls together. */
  readonly per: string | undefined;
}

/** A new key version has separate limits. */
export interface RateLimitedConnection {
  readonly connectionId: number;
  readonly keyVersion: number;
}

/** Applies vendors' rate limits per connection on this replica. */
export interface UpstreamRateLimiter {
  /**
   * Reserves one request and returns the milliseconds to wait before sending it. When the wait exceeds MAX_WAIT_MS
   * nothing is reserved and the request must not be sent.
   */
  reserve(connection: RateLimitedConnection, limits: readonly UpstreamRateLimit[], args: JsonObject): number;
  /** Pauses a connection for the wait that its upstream requested, at most an hour. */
  pause(connection: RateLimitedConnection, waitMs: number): void;
  forget(connectionId: number): void;
}

/** Milliseconds that a call may wait for its turn. */
export const MAX_WAIT_MS = 2_000;
/** Milliseconds to pause when a busy upstream does not say how long. */
export const DEFAULT_WAIT_MS = 500;
export const NO_RATE_LIMITS: readonly UpstreamRateLimit[] = [];
const MAX_PAUSE_MS = 3_600_000;
/** Maximum number of entries; an evicted one costs a few excess requests. */
const MAX_PAUSED = 20_000;
const MAX_COUNTED = 5_000;

/** `now` returns milliseconds since 1970. */
export function createUpstreamRateLimiter({
  now = Date.now,
}: { readonly now?: () => number } = {}): UpstreamRateLimiter {
  const pauses = new LRUCache<number, { readonly keyVersion: number; readonly untilMs: number }>(atMost(MAX_PAUSED));
  /** When requests were or will be sent, oldest first. */
  const sent = new LRUCache<string, number[]>(atMost(MAX_COUNTED));

  function pausedUntil({ connectionId, keyVersion }: RateLimitedConnection): number {
    const pause = pauses.get(connectionId);
    return pause?.keyVersion === keyVersion ? pause.untilMs : 0;
  }

  return {
    reserve(connection, limits, args) {
      // Fast path: no limits and no paused connections.
      if (limits.length === 0 && pauses.size === 0) return 0;
      const nowMs = now();
      let sendAtMs = Math.max(nowMs, pausedUntil(connection));
      const counting = limits.filter(({ per }) => per === undefined || args[per] !== undefined);
      const counters = counting.map((limit) => {
        const key = keyOf(connection, limit, args);
        const times = sent.get(key) ?? [];
        sendAtMs = Math.max(sendAtMs, freeFrom(times, limit, nowMs));
        return { key, times };
      });
      if (sendAtMs - nowMs > MAX_WAIT_MS) return sendAtMs - nowMs;
      for (const { key, times } of counters) {
        times.push(sendAtMs);
        sent.set(key, times);
      }
      return sendAtMs - nowMs;
    },

    pause({ connectionId, keyVersion }, waitMs) {
      const untilMs = now() + Math.min(waitMs, MAX_PAUSE_MS);
      if (untilMs > pausedUntil({ connectionId, keyVersion })) pauses.set(connectionId, { keyVersion, untilMs });
    },

    forget: (connectionId) => void pauses.delete(connectionId),
  };
}

function keyOf(
  { connectionId, keyVersion }: RateLimitedConnection,
  { id, per }: UpstreamRateLimit,
  args: JsonObject,
): string {
  const part = per === undefined ? "" : JSON.stringify(args[per] ?? null).slice(0, 200);
  return `${connectionId}/${keyVersion}/${id}/${part}`;
}

/** Returns when the next request is allowed, after those already waiting. Drops times outside the window. */
function freeFrom(times: number[], { requests, windowMs }: UpstreamRateLimit, nowMs: number): number {
  while (times[0] !== undefined && times[0] <= nowMs - windowMs) times.shift();
  const last = times.at(-1) ?? 0;
  const blocking = times[times.length - requests];
  return Math.max(last, blocking === undefined ? 0 : blocking + windowMs);
}

export function rateLimitedResult(title: string, waitMs: number): CallResult {
  const seconds = Math.ceil(waitMs / 1_000);
  const at = new Date(Date.now() + waitMs).toISOString();
  return errorResult(
    `${title} takes no more calls through this connection for the moment: its rate limit is reached. ` +
      `Nothing was sent. Try again in ${seconds} seconds, at ${at}.`,
    "held_back",
  );
}
