import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { AccountActivity } from "../../../src/transport/gate/account-activity.ts";
import { createAccountActivity } from "../../../src/transport/gate/account-activity.ts";
import {
  createConcurrencyLimiter,
  type ConcurrencyLimiter,
  type ConcurrencyLimits,
} from "../../../src/transport/gate/concurrency-limiter.ts";

const LIMITS = { maxInFlight: 2, maxWaiting: 8, maxWaitMs: 10_000 };
const ALONE: AccountActivity = { note: () => undefined, isShared: () => false };
const SHARED: AccountActivity = { note: () => undefined, isShared: () => true };
const REFUSED = { kind: "unavailable", reason: "OVERLOADED", retryAfterSeconds: 1 };

afterEach(() => {
  vi.useRealTimers();
});

/** Returns a limiter and the names of the requests in the order of their admission or rejection. */
function setUp(limits: Partial<ConcurrencyLimits> = {}, activity = ALONE) {
  const limiter = createConcurrencyLimiter({ ...LIMITS, ...limits }, activity);
  const admitted: string[] = [];
  const refused: string[] = [];
  const enter = (account: string, ...names: string[]): void => {
    for (const name of names) {
      const admission = limiter.enter(account);
      if (admission === undefined) admitted.push(name);
      else
        admission.then(
          () => admitted.push(name),
          () => refused.push(name),
        );
    }
  };
  return { limiter, admitted, refused, enter };
}

async function leave(limiter: ConcurrencyLimiter, ...accounts: string[]): Promise<void> {
  for (const account of accounts) {
    limiter.leave(account);
    await turn();
  }
}

describe("concurrency limiter", () => {
  test("admits a request synchronously while its account has a free share of the slots", () => {
    const { admitted, enter } = setUp({ maxInFlight: 8 });
    enter("a", "a1", "a2", "a3", "a4", "a5");
    expect(admitted).toEqual(["a1", "a2", "a3", "a4"]);
    enter("b", "b1", "b2", "b3");
    enter("c", "c1");
    expect(admitted.slice(4)).toEqual(["b1", "b2", "c1"]);
  });

  test("admits waiting requests round-robin by account, and in order of arrival within an account", async () => {
    const { limiter, admitted, enter } = setUp();
    enter("a", "a1", "a2", "a3", "a4");
    enter("b", "b1", "b2", "b3");
    expect(admitted).toEqual(["a1", "b1"]);
    await leave(limiter, "a", "b", "a", "b", "a");
    expect(admitted).toEqual(["a1", "b1", "a2", "b2", "a3", "b3", "a4"]);
  });

  test("rejects the newest request of the longest queue when the wait queue is full", async () => {
    const { limiter, admitted, refused, enter } = setUp({ maxWaiting: 3 });
    enter("a", "a1", "a2", "a3", "a4");
    enter("b", "b1", "b2");
    await turn();
    expect(refused).toEqual(["a4"]);
    enter("a", "a5");
    await turn();
    expect(refused).toEqual(["a4", "a5"]);
    await leave(limiter, "b", "a");
    expect(admitted).toEqual(["a1", "b1", "b2", "a2"]);
  });

  test("rejects before reading the body only for the account whose next request would be rejected", async () => {
    const { limiter, enter } = setUp({ maxWaiting: 2 });
    enter("a", "a1", "a2");
    expect(limiter.refuseIfFull("a")).toBeUndefined();
    enter("a", "a3");
    await expect(limiter.refuseIfFull("a")).rejects.toMatchObject(REFUSED);
    expect(limiter.refuseIfFull("b")).toBeUndefined();
  });

  test("rejects a request that waited too long and keeps serving later requests", async () => {
    const { limiter, admitted, refused, enter } = setUp({ maxWaitMs: 5 });
    enter("a", "a1", "a2");
    enter("b", "b1", "b2");
    await vi.waitFor(() => expect(refused).toEqual(["a2", "b2"]));
    await leave(limiter, "a", "b");
    enter("a", "a3");
    enter("b", "b3");
    expect(admitted).toEqual(["a1", "b1", "a3", "b3"]);
  });

  test("releases every slot, so that the capacity stays constant after many requests", async () => {
    const { limiter, admitted, enter } = setUp({ maxInFlight: 4 }, createAccountActivity());
    for (let round = 0; round < 50; round += 1) {
      enter("a", "a", "a");
      enter(`b${round}`, "b");
      await vi.waitFor(() => expect(admitted).toHaveLength(3));
      admitted.length = 0;
      await leave(limiter, "a", "a", `b${round}`);
    }
  });
});

describe("concurrency limiter with several active accounts", () => {
  test("spreads the requests of one account over event loop turns and admits another account immediately", async () => {
    const { admitted, enter } = setUp({ maxInFlight: 64, maxWaiting: 64 }, SHARED);
    enter("a", ...Array.from({ length: 12 }, (_, index) => `a${index}`));
    enter("b", "b0");
    expect(admitted).toEqual(["a0", "a1", "b0"]);
    await turn();
    expect(admitted).toHaveLength(7);
    enter("b", "b1");
    expect(admitted.at(-1)).toBe("b1");
    await vi.waitFor(() => expect(admitted).toHaveLength(14));
  });

  test("spreads a flood of the only account over event loop turns as well", async () => {
    const { admitted, enter } = setUp({ maxInFlight: 512, maxWaiting: 512 });
    enter("a", ...Array.from({ length: 100 }, (_, index) => `a${index}`));
    expect(admitted).toHaveLength(32);
    await turn();
    expect(admitted).toHaveLength(64);
    enter("b", "b0");
    expect(admitted.at(-1)).toBe("b0");
  });

  test("delays a rejection by a quarter of a second, so that immediate retries do not slow down other accounts", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { refused, enter } = setUp({ maxWaiting: 1 }, SHARED);
    enter("a", "a1", "a2", "a3");
    await vi.advanceTimersByTimeAsync(249);
    expect(refused).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(refused).toEqual(["a3"]);
  });
});

test("the limiter treats a replica as shared for one second after requests of two accounts", () => {
  let now = 0;
  const activity = createAccountActivity(() => now);
  activity.note("a");
  activity.note("a");
  expect(activity.isShared()).toBe(false);
  activity.note("b");
  expect(activity.isShared()).toBe(true);
  activity.note("b");
  now = 999;
  expect(activity.isShared()).toBe(true);
  now = 1_000;
  expect(activity.isShared()).toBe(false);
});
