import { expect, test } from "vitest";
import { createQuietAccounts, type QuietAccounts } from "../../src/webhooks/quiet-accounts.ts";

interface Stage {
  readonly quiet: QuietAccounts;
  change(accountId: string): void;
  gap(): void;
  setHealthy(isHealthy: boolean): void;
}

function open(): Stage {
  let change = (_accountId: string): void => {};
  let gap = (): void => {};
  let isHealthy = true;
  const quiet = createQuietAccounts({
    onChange: (callback) => {
      change = callback;
      return () => {};
    },
    onGap: (callback) => {
      gap = callback;
      return () => {};
    },
    isHealthy: () => isHealthy,
  });
  return {
    quiet,
    change: (accountId) => change(accountId),
    gap: () => gap(),
    setHealthy: (next) => {
      isHealthy = next;
    },
  };
}

test("remembers an account without webhooks until one of its webhooks changes", () => {
  const { quiet, change } = open();
  expect(quiet.has("a")).toBe(false);
  quiet.observe()("a");
  quiet.observe()("b");
  expect([quiet.has("a"), quiet.has("b")]).toEqual([true, true]);
  change("a");
  expect([quiet.has("a"), quiet.has("b")]).toEqual([false, true]);
});

test("does not remember what was read before a change", () => {
  const { quiet, change } = open();
  const remember = quiet.observe();
  change("a");
  remember("a");
  expect(quiet.has("a")).toBe(false);
});

test("trusts nothing while changes may be missed", () => {
  const { quiet, gap, setHealthy } = open();
  quiet.observe()("a");
  setHealthy(false);
  expect(quiet.has("a")).toBe(false);
  quiet.observe()("b");
  setHealthy(true);
  expect([quiet.has("a"), quiet.has("b")]).toEqual([true, false]);
  gap();
  expect(quiet.has("a")).toBe(false);
});
