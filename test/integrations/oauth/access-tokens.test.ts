import { beforeEach, describe, expect, it } from "vitest";
import type { Target } from "../../../src/integrations/target.ts";
import {
  createAccessTokens,
  type AccessTokens,
  type AccessTokenSource,
} from "../../../src/integrations/oauth/access-tokens.ts";
import { TokenFailure } from "../../../src/integrations/oauth/token-failure.ts";

const never = new AbortController().signal;

let clock = 0;
let tokens: AccessTokens;
let asked = 0;
let lifetimeSeconds: number | undefined;
beforeEach(() => {
  clock = 1_000_000;
  asked = 0;
  lifetimeSeconds = 3_600;
  tokens = createAccessTokens({ now: () => clock });
});

/** An authorization server that numbers its tokens. */
const source: AccessTokenSource = {
  key: "https://acme.example.com/token",
  async obtain() {
    asked += 1;
    return { value: `token ${asked}`, lifetimeSeconds };
  },
};

function target(connectionId = 1, keyVersion = 1): Target {
  return { accountId: "a", connectionId, keyVersion, configuration: {} };
}

const current = (connectionId?: number, keyVersion?: number) =>
  tokens.current(target(connectionId, keyVersion), source, never);

describe("a cached token", () => {
  it.each<[number | undefined, number]>([
    [3_600, 3_540],
    [10, 9],
    [undefined, 540],
  ])("with a lifetime of %s seconds is used for %d seconds, then replaced", async (lifetime, used) => {
    lifetimeSeconds = lifetime;
    expect(await current()).toBe("token 1");
    clock += used * 1_000 - 1;
    expect(await current()).toBe("token 1");
    clock += 1;
    expect(await current()).toBe("token 2");
  });

  it("belongs to one connection and one version of its key", async () => {
    expect([await current(1), await current(2), await current(1, 2), await current(2)]).toEqual([
      "token 1",
      "token 2",
      "token 3",
      "token 2",
    ]);
  });

  it("is requested once for concurrent callers, and once for concurrent rejections", async () => {
    expect(new Set(await Promise.all(Array.from({ length: 10 }, () => current())))).toEqual(new Set(["token 1"]));
    const renewed = Array.from({ length: 10 }, () => tokens.renewed(target(), source, "token 1", never));
    expect(new Set(await Promise.all(renewed))).toEqual(new Set(["token 2"]));
    // This call was rejected before the other callers received a new token.
    expect(await tokens.renewed(target(), source, "token 1", never)).toBe("token 2");
    expect(asked).toBe(2);
  });

  it("is dropped with its connection", async () => {
    await current();
    tokens.forget(1);
    expect(await current()).toBe("token 2");
  });
});

describe("a token request", () => {
  it("continues for other callers when one caller aborts", async () => {
    const gate = Promise.withResolvers<undefined>();
    const slow: AccessTokenSource = { key: "slow", obtain: () => gate.promise.then(() => source.obtain(never)) };
    const leaving = new AbortController();
    const first = tokens.current(target(), slow, leaving.signal);
    const second = tokens.current(target(), slow, never);
    leaving.abort(new Error("gone"));
    await expect(first).rejects.toThrow("gone");
    gate.resolve(undefined);
    expect(await second).toBe("token 1");
  });

  it("caches nothing after a failure, which reaches all waiting callers", async () => {
    let fails = true;
    const moody: AccessTokenSource = {
      key: "moody",
      obtain: () => (fails ? Promise.reject(new TokenFailure("down", "It is down.")) : source.obtain(never)),
    };
    const both = await Promise.allSettled([1, 2].map(() => tokens.current(target(), moody, never)));
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    fails = false;
    expect(await tokens.current(target(), moody, never)).toBe("token 1");
  });
});
