import { expect, test } from "vitest";
import { createProbe } from "../../../src/storage/pool/probe.ts";
import { until } from "../../support/until.ts";

test("concurrent callers share one probe", async () => {
  let looks = 0;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const probe = createProbe(
    () => {
      looks += 1;
      return promise;
    },
    { boundMs: 10_000, freshMs: 10_000 },
  );
  const answers = [probe(), probe(), probe()];
  resolve(undefined);
  expect(await Promise.all(answers)).toEqual([true, true, true]);
  expect(await probe()).toBe(true);
  expect(looks).toBe(1);
});

test("a hanging probe reports failure, and no other one starts meanwhile", async () => {
  let looks = 0;
  const probe = createProbe(
    () => {
      looks += 1;
      return new Promise(() => undefined);
    },
    { boundMs: 1, freshMs: 1 },
  );
  expect(await probe()).toBe(false);
  expect(await probe()).toBe(false);
  expect(looks).toBe(1);
});

test("a failed probe reports failure, and another one follows", async () => {
  let isFine = false;
  const probe = createProbe(() => (isFine ? Promise.resolve() : Promise.reject(new Error("away"))), {
    boundMs: 10_000,
    freshMs: 1,
  });
  expect(await probe()).toBe(false);
  isFine = true;
  await until(probe);
});
