import { LRUCache } from "lru-cache";
import { atMost } from "../at-most.ts";
import type { JsonObject } from "../json.ts";
import { errorResult, type CallResult } from "./tool.ts";

/** How often a third party may be called through one connection. */
export interface RateLimit {
  /** Tells it from the other limits of its integration. */
  readonly id: string;
  /** Requests in any stretch of `windowMs` milliseconds. */
  readonly requests: number;
  readonly windowMs: number;
  /** The argument for each value of which the limit counts, by itself; undefined where it counts all calls together. */
  readonly per: string | undefined;
}

/** A connection as its pace knows it: a new key has a pace of its own. */
export interface PacedConnection {
  readonly connectionId: number;
  readonly keyVersion: number;
}

/** The pace of connections on this replica: what their third parties allow, and how long they ask to be left alone. */
export interface Pace {
  /**
   * Takes a place for one request, and answers how many milliseconds to wait before it is sent: 0 for most. Beyond
   * LONGEST_WAIT_MS nothing was taken, and the call must not go out.
   */
  take(connection: PacedConnection, limits: readonly RateLimit[], args: JsonObject): number;
  /** Notes that the third party asks to be left alone for so many milliseconds; an hour at most is believed. */
  hold(connection: PacedConnection, waitMs: number): void;
  /** Forgets what is noted of a connection. */
  forget(connectionId: number): void;
}

/** How long a call waits for its turn by itself; beyond, its caller is told when to come back. In milliseconds. */
export const LONGEST_WAIT_MS = 2_000;
/** How long a connection is left alone whose third party is busy and does not say for how long. In milliseconds. */
export const UNTOLD_WAIT_MS = 500;
/** For integrations whose limits nobody knows. */
export const NO_LIMITS: readonly RateLimit[] = [];
const LONGEST_HOLD_MS = 3_600_000;
/** Connections that are remembered; forgetting one costs its third party a few calls too many. */
const MAX_HELD = 20_000;
const MAX_COUNTED = 5_000;

/** Makes the pace of an integration's connections. `now` is milliseconds since 1970. */
export function createPace({ now = Date.now }: { readonly now?: () => number } = {}): Pace {
  const holds = new LRUCache<number, { readonly keyVersion: number; readonly untilMs: number }>(atMost(MAX_HELD));
  /** When requests were or will be sent, oldest first; as many as can matter. */
  const sent = new LRUCache<string, number[]>(atMost(MAX_COUNTED));

  function heldUntil({ connectionId, keyVersion }: PacedConnection): number {
    const hold = holds.get(connectionId);
    return hold?.keyVersion === keyVersion ? hold.untilMs : 0;
  }

  return {
    take(connection, limits, args) {
      // Nearly every call: no limits, and nobody asked for patience.
      if (limits.length === 0 && holds.size === 0) return 0;
      const nowMs = now();
      let sendAtMs = Math.max(nowMs, heldUntil(connection));
      const counting = limits.filter(({ per }) => per === undefined || args[per] !== undefined);
      const counters = counting.map((limit) => {
        const key = keyOf(connection, limit, args);
        const times = sent.get(key) ?? [];
        sendAtMs = Math.max(sendAtMs, freeFrom(times, limit, nowMs));
        return { key, times };
      });
      if (sendAtMs - nowMs > LONGEST_WAIT_MS) return sendAtMs - nowMs;
      for (const { key, times } of counters) {
        times.push(sendAtMs);
        sent.set(key, times);
      }
      return sendAtMs - nowMs;
    },

    hold({ connectionId, keyVersion }, waitMs) {
      const untilMs = now() + Math.min(waitMs, LONGEST_HOLD_MS);
      if (untilMs > heldUntil({ connectionId, keyVersion })) holds.set(connectionId, { keyVersion, untilMs });
    },

    forget: (connectionId) => void holds.delete(connectionId),
  };
}

function keyOf({ connectionId, keyVersion }: PacedConnection, { id, per }: RateLimit, args: JsonObject): string {
  const part = per === undefined ? "" : JSON.stringify(args[per] ?? null).slice(0, 200);
  return `${connectionId}/${keyVersion}/${id}/${part}`;
}

/** From when a limit allows one more; behind those that wait already. Drops the times that have left the window. */
function freeFrom(times: number[], { requests, windowMs }: RateLimit, nowMs: number): number {
  while (times[0] !== undefined && times[0] <= nowMs - windowMs) times.shift();
  const last = times.at(-1) ?? 0;
  const blocking = times[times.length - requests];
  return Math.max(last, blocking === undefined ? 0 : blocking + windowMs);
}

/** The result of a call that is not sent because its turn is too far away. */
export function heldBack(title: string, waitMs: number): CallResult {
  const seconds = Math.ceil(waitMs / 1_000);
  const at = new Date(Date.now() + waitMs).toISOString();
  return errorResult(
    `${title} takes no more calls through this connection for the moment: its rate limit is reached. ` +
      `Nothing was sent. Try again in ${seconds} seconds, at ${at}.`,
    "held_back",
  );
}
