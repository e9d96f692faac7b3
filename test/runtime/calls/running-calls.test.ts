import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createRunningCalls, type PauseLimits } from "../../../src/runtime/calls/running-calls.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});

afterEach(() => {
  vi.useRealTimers();
});

function start(times: { idleMs: number; maxMs: number }) {
  const limits: { pause?: PauseLimits } = {};
  const ended: unknown[] = [];
  void createRunningCalls()
    .run(new AbortController(), 1, times, (_signal, _onProgress, pause) => {
      limits.pause = pause;
      return new Promise(() => undefined);
    })
    .then((outcome) => ended.push(outcome));
  return { pause: () => limits.pause?.() ?? (() => undefined), ended };
}

test("neither time limit expires while a call is paused", async () => {
  const { pause, ended } = start({ idleMs: 1_000, maxMs: 3_000 });
  const resume = pause();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ended).toEqual([]);
  resume();
  await vi.advanceTimersByTimeAsync(900);
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_200);
  expect(ended).toEqual([{ kind: "timed_out", limit: "idle" }]);
});

test("a call is paused until the last of its pauses ends", async () => {
  const { pause, ended } = start({ idleMs: 1_000, maxMs: 3_000 });
  const [first, second] = [pause(), pause()];
  await vi.advanceTimersByTimeAsync(5_000);
  first();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(ended).toEqual([]);
  second();
  await vi.advanceTimersByTimeAsync(2_100);
  expect(ended).toHaveLength(1);
});
