import { expect, test } from "vitest";
import type { DueDelivery } from "../../src/webhooks/delivery-queue.ts";
import { judgeAttempt, retryPauseSeconds } from "../../src/webhooks/judge-attempt.ts";

const now = new Date("2026-07-04T08:00:00.000Z");
const ago = (days: number): Date => new Date(now.getTime() - days * 86_400_000);
const delivery: DueDelivery = {
  accountId: "acc_a",
  webhookId: "webhook_a",
  id: "delivery_a",
  payload: "{}",
  url: "https://hooks.example.com/",
  secrets: [],
  attempts: 0,
  queuedAt: now,
  failures: 0,
  failingSince: undefined,
};
const failed = { responseStatus: 500, error: "The receiver answered 500." };

test("pauses grow from 5 seconds to 4 hours, with jitter", () => {
  expect([1, 2, 3, 4, 5, 6, 7, 40].map((failures) => retryPauseSeconds(failures, 0))).toEqual([
    5, 30, 180, 1_080, 6_480, 14_400, 14_400, 14_400,
  ]);
  expect(retryPauseSeconds(1, 1)).toBe(6);
});

test("an attempt without an error completes the delivery", () => {
  const result = { responseStatus: 204, error: undefined };
  expect(judgeAttempt({ ...delivery, failingSince: ago(30) }, result, now, 0)).toEqual({ kind: "delivered" });
});

test("the retry of a delivery depends on its own attempts, and the pause of a webhook on its failures in a row", () => {
  expect(judgeAttempt({ ...delivery, attempts: 1, failures: 3 }, failed, now, 0)).toEqual({
    kind: "retry",
    afterSeconds: 30,
    pauseSeconds: 1_080,
  });
});

test("a delivery is retried for three days and then given up, while others succeed", () => {
  const late = { ...delivery, attempts: 20, failures: 0 };
  expect(judgeAttempt({ ...late, queuedAt: ago(2.99) }, failed, now, 0).kind).toBe("retry");
  expect(judgeAttempt({ ...late, queuedAt: ago(3) }, failed, now, 0)).toEqual({ kind: "give_up", pauseSeconds: 5 });
});

test("a webhook that failed for three days is disabled with the last error", () => {
  expect(judgeAttempt({ ...delivery, failingSince: ago(2.99) }, failed, now, 0).kind).toBe("retry");
  expect(judgeAttempt({ ...delivery, failingSince: ago(3) }, failed, now, 0)).toEqual({
    kind: "disable",
    reason: "All attempts failed for 3 days. The last error: The receiver answered 500.",
  });
});

test("a webhook whose receiver answers 410 is disabled at once", () => {
  const gone = { responseStatus: 410, error: "The receiver answered 410." };
  expect(judgeAttempt(delivery, gone, now, 0)).toEqual({ kind: "disable", reason: "The receiver answered 410 Gone." });
});
