import { LRUCache } from "lru-cache";
import { atMost } from "../at-most.ts";
import type { JsonObject } from "../json.ts";
import { errorResult, type CallResult } from "./tool.ts";

/** How often a third party may be called through one connection. */
export interface UpstreamRateLimit {
  /** Tells it from the other limits of its integration. */
  readonly id: string;
  /** Requests in any stretch of `windowMs` milliseconds. */
  readonly requests: number;
  readonly windowMs: number;
  /** The argument for each value of which the limit counts, by itself; undefined where it counts all calls together. */
  readonly per: string | undefined;
}

/** A connection as its pace knows it: a new key has a pace of its own. */
export interface RateLimitedConnection {
  readonly connectionId: number;
  readonly keyVersion: number;
}

/** The pace of connections on this replica: what their third parties allow, and how long they ask to be left alone. */
export interface UpstreamRateLimiter {
  /**
   * Takes a place for one request, and answers how many milliseconds to wait before it is sent: 0 for most. Beyond
   * LONGEST_WAIT_MS nothing was taken, and the call must not go out.
   */
  reserve(connection: RateLimitedConnection, limits: readonly UpstreamRateLimit[], args: JsonObject): number;
  /** Notes that the third party asks to be left alone for so many milliseconds; an hour at most is believed. */
  pause(connection: RateLimitedConnection, waitMs: number): void;
  /** Forgets what is noted of a connection. */
  forget(connectionId: number): void;
}

/** How long a call waits for its turn by itself; beyond, its caller is told when to come back. In milliseconds. */
export const MAX_WAIT_MS = 2_000;
/** How long a connection is left alone whose third party is busy and does not say for how long. In milliseconds. */
export const DEFAULT_WAIT_MS = 500;
/** For integrations whose limits nobody knows. */
export const NO_RATE_LIMITS: readonly UpstreamRateLimit[] = [];
const MAX_PAUSE_MS = 3_600_000;
/** Connections that are remembered; forgetting one costs its third party a few calls too many. */
const MAX_PAUSED = 20_000;
const MAX_COUNTED = 5_000;

/** Makes the pace of an integration's connections. `now` is milliseconds since 1970. */
export function createUpstreamRateLimiter({
  now = Date.now,
}: { readonly now?: () => number } = {}): UpstreamRateLimiter {
  const pauses = new LRUCache<number, { readonly keyVersion: number; readonly untilMs: number }>(atMost(MAX_PAUSED));
  /** When requests were or will be sent, oldest first; as many as can matter. */
  const sent = new LRUCache<string, number[]>(atMost(MAX_COUNTED));

  function pausedUntil({ connectionId, keyVersion }: RateLimitedConnection): number {
    const pause = pauses.get(connectionId);
    return pause?.keyVersion === keyVersion ? pause.untilMs : 0;
  }

  return {
    reserve(connection, limits, args) {
      // Nearly every call: no limits, and nobody asked for patience.
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

/** From when a limit allows one more; behind those that wait already. Drops the times that have left the window. */
function freeFrom(times: number[], { requests, windowMs }: UpstreamRateLimit, nowMs: number): number {
  while (times[0] !== undefined && times[0] <= nowMs - windowMs) times.shift();
  const last = times.at(-1) ?? 0;
  const blocking = times[times.length - requests];
  return Math.max(last, blocking === undefined ? 0 : blocking + windowMs);
}

/** The result of a call that is not sent because its turn is too far away. */
export function rateLimitedResult(title: string, waitMs: number): CallResult {
  const seconds = Math.ceil(waitMs / 1_000);
  const at = new Date(Date.now() + waitMs).toISOString();
  return errorResult(
    `${title} takes no more calls through this connection for the moment: its rate limit is reached. ` +
      `Nothing was sent. Try again in ${seconds} seconds, at ${at}.`,
    "held_back",
  );
}
