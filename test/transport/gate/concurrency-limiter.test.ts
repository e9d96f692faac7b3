import { describe, expect, test } from "vitest";
import { createLane } from "../../../src/transport/gate/concurrency-limiter.ts";

const LIMITS = { maxInFlight: 2, maxWaiting: 2, maxWaitMs: 20 };

describe("a lane", () => {
  test("lets in as many as it holds and hands a place on in order", async () => {
    const lane = createLane({ ...LIMITS, maxWaitMs: 10_000 });
    expect([lane.enter(), lane.enter()]).toEqual([undefined, undefined]);
    const order: number[] = [];
    const third = lane.enter()?.then(() => order.push(3));
    const fourth = lane.enter()?.then(() => order.push(4));
    expect(lane.isFull()).toBe(true);
    await expect(lane.enter()).rejects.toMatchObject({ kind: "unavailable", retryAfterSeconds: 1 });
    lane.leave();
    expect(lane.isFull()).toBe(false);
    await third;
    lane.leave();
    await fourth;
    expect(order).toEqual([3, 4]);
  });

  test("turns away who waited too long, and is whole again afterwards", async () => {
    const lane = createLane(LIMITS);
    void lane.enter();
    void lane.enter();
    const turnedAway = expect.objectContaining({
      status: "rejected",
      reason: expect.objectContaining({ kind: "unavailable" }),
    });
    expect(await Promise.allSettled([lane.enter(), lane.enter()])).toEqual([turnedAway, turnedAway]);
    lane.leave();
    lane.leave();
    expect([lane.enter(), lane.enter()]).toEqual([undefined, undefined]);
    const third = lane.enter();
    expect(third).toBeInstanceOf(Promise);
    lane.leave();
    await third;
  });
});
