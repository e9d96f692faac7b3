import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import {
  createUpstreamRateLimiter,
  MAX_WAIT_MS,
  type UpstreamRateLimiter,
  type UpstreamRateLimit,
} from "../../src/integrations/upstream-rate-limiter.ts";

const ONE = { connectionId: 1, keyVersion: 1 };
const PER_SECOND: UpstreamRateLimit = { id: "a", requests: 3, windowMs: 1_000, per: undefined };

let clock = 0;
let pace: UpstreamRateLimiter;
beforeEach(() => {
  clock = 1_000_000;
  pace = createUpstreamRateLimiter({ now: () => clock });
});

describe("a rate limit", () => {
  it("allows calls within the limit, delays the next ones, and rejects those that would wait too long", () => {
    const waits = Array.from({ length: 11 }, () => pace.reserve(ONE, [PER_SECOND], {}));
    expect(waits).toEqual([0, 0, 0, 1_000, 1_000, 1_000, 2_000, 2_000, 2_000, 3_000, 3_000]);
    clock += 1_500;
    // Rejected calls use no slots.
    expect(pace.reserve(ONE, [PER_SECOND], {})).toBe(1_500);
  });

  it("counts each connection, key version and argument value separately", () => {
    const perBase: UpstreamRateLimit = { id: "b", requests: 1, windowMs: 1_000, per: "base" };
    expect(pace.reserve(ONE, [perBase], { base: "x" })).toBe(0);
    expect(pace.reserve(ONE, [perBase], { base: "y" })).toBe(0);
    expect(pace.reserve({ connectionId: 2, keyVersion: 1 }, [perBase], { base: "x" })).toBe(0);
    expect(pace.reserve({ connectionId: 1, keyVersion: 2 }, [perBase], { base: "x" })).toBe(0);
    expect(pace.reserve(ONE, [perBase], { base: "x" })).toBe(1_000);
    // Calls without the argument `base` are not counted.
    expect([pace.reserve(ONE, [perBase], {}), pace.reserve(ONE, [perBase], {})]).toEqual([0, 0]);
  });

  it("applies the strictest of several limits", () => {
    const perMinute: UpstreamRateLimit = { id: "c", requests: 4, windowMs: 60_000, per: undefined };
    const waits = Array.from({ length: 5 }, () => pace.reserve(ONE, [PER_SECOND, perMinute], {}));
    expect(waits).toEqual([0, 0, 0, 1_000, 60_000]);
  });

  it("is never exceeded in any window, whenever calls arrive", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 700 }), { maxLength: 200 }),
        fc.integer({ min: 1, max: 5 }),
        (gaps, requests) => {
          const limits = [
            { id: "a", requests, windowMs: 1_000, per: undefined },
            { id: "b", requests: requests * 2, windowMs: 3_000, per: undefined },
          ];
          const mine = createUpstreamRateLimiter({ now: () => clock });
          const sentAt: number[] = [];
          for (const gap of gaps) {
            clock += gap;
            const wait = mine.reserve(ONE, limits, {});
            if (wait <= MAX_WAIT_MS) sentAt.push(clock + wait);
          }
          for (const { requests: allowed, windowMs } of limits)
            for (const at of sentAt)
              expect(sentAt.filter((each) => each >= at && each < at + windowMs).length).toBeLessThanOrEqual(allowed);
        },
      ),
      { seed: 20_261_121, numRuns: 100 },
    );
  });
});

describe("an upstream with a stated wait", () => {
  it("receives no calls of the connection until the time has passed", () => {
    pace.pause(ONE, 30_000);
    pace.pause(ONE, 1_000);
    expect(pace.reserve(ONE, [], {})).toBe(30_000);
    expect(pace.reserve({ connectionId: 2, keyVersion: 1 }, [], {})).toBe(0);
    clock += 29_000;
    expect(pace.reserve(ONE, [], {})).toBe(1_000);
    clock += 1_000;
    expect(pace.reserve(ONE, [], {})).toBe(0);
  });

  it("is honored for at most an hour, and only for the key that was sent", () => {
    pace.pause(ONE, 1e12);
    expect(pace.reserve(ONE, [], {})).toBe(3_600_000);
    expect(pace.reserve({ connectionId: 1, keyVersion: 2 }, [], {})).toBe(0);
    pace.forget(1);
    expect(pace.reserve(ONE, [], {})).toBe(0);
  });
});
