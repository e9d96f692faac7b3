import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { pino } from "pino";
import type { Target } from "../../../src/integrations/target.ts";
import { createMcpIntegration } from "../../../src/integrations/mcp/mcp-integration.ts";
import type { AuthorizationTerms, AuthorizationNeed } from "../../../src/integrations/authorization.ts";
import { toStoredTokens } from "../../../src/integrations/oauth/grant.ts";
import { createGrantedTokens, type GrantedTokens } from "../../../src/integrations/oauth/granted-tokens.ts";
import { refreshTokens } from "../../../src/integrations/oauth/refresh-tokens.ts";
import { createRenewalSlots } from "../../../src/integrations/oauth/renewal-slots.ts";
import type { CallResult, ToolDefinition } from "../../../src/integrations/tool.ts";
import { openDatabase, type Database } from "../../../src/storage/database.ts";
import { createSealer } from "../../../src/storage/sealing.ts";
import { createUpstreamGrantStore } from "../../../src/storage/stores/connections/connection-grant.ts";
import { sealGrant } from "../../../src/storage/stores/connections/sealed-grant.ts";
import { until } from "../../support/until.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { failureOf, obtain, startSubject, type Subject, termsOf } from "./support.ts";

const sealer = createSealer([{ version: 1, key: randomBytes(32) }]);
const log = pino({ level: "silent" });
let testDatabase: TestDatabase;
let databases: readonly Database[];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  databases = await Promise.all([1, 2].map(() => openDatabase({ url: testDatabase.url, poolSize: 4 })));
});
afterAll(async () => {
  await Promise.all(databases.map((one) => one.close()));
  await testDatabase.close();
});
beforeEach(async () => {
  await databases[0]?.pool.query("delete from connection_grant");
});

const signal = AbortSignal.timeout(120_000);

/** A connection that its owner has authorized at a vendor, on replicas with clocks that the test sets. */
interface Authorized extends Subject {
  readonly terms: AuthorizationTerms;
  readonly origin: string;
  readonly target: Target;
  readonly replicas: readonly GrantedTokens[];
  /** The requests for authorization that the owner received. */
  readonly needs: AuthorizationNeed[];
  /** Advances the clocks of the replicas, in milliseconds. */
  pass(ms: number): void;
}

async function authorized(lifetimeSeconds = 3_600): Promise<Authorized> {
  const subject = await startSubject();
  const { upstream, dispatcher } = subject;
  upstream.vendor.ttl.accessToken = lifetimeSeconds;
  const terms = termsOf(upstream);
  const tokens = toStoredTokens(await obtain(upstream, terms, dispatcher), Date.now());
  const target: Target = {
    accountId: "acc_a",
    connectionId: 7,
    keyVersion: 2,
    configuration: { url: upstream.url },
    authMethod: "oauth2",
  };
  await databases[0]?.pool.query(
    `insert into connection_grant (account_id, id, connection_id, server_type, key_version, sealed_grant)
     values ('acc_a', 'g', 7, 'mcp', 2, $1)`,
    [sealGrant(sealer, "acc_a", "g", { terms, tokens })],
  );
  const needs: AuthorizationNeed[] = [];
  let passedMs = 0;
  const replicas = databases.map(({ pool, reads }) =>
    createGrantedTokens({
      store: createUpstreamGrantStore({ reads, pool, sealer }),
      refresh: (of, refreshToken, until) => refreshTokens(of, refreshToken, dispatcher, until),
      requireAuthorization: (_target, need) => Promise.resolve(needs.push(need)),
      slots: createRenewalSlots({ total: 4, perServer: 3 }),
      now: () => Date.now() + passedMs,
    }),
  );
  const { origin } = new URL(upstream.url);
  return { ...subject, terms, origin, target, replicas, needs, pass: (ms) => (passedMs += ms) };
}

/** The MCP integration of a replica. */
function integrationOf({ dispatcher }: Subject, tokens: GrantedTokens | undefined) {
  const integration = createMcpIntegration({
    dispatcher,
    checkDestination: () => undefined,
    log,
    ...(tokens !== undefined && { tokens }),
  });
  onTestFinished(() => integration.close());
  return integration;
}

const ECHO: ToolDefinition = {
  name: "echo",
  description: "",
  inputSchema: { type: "object" },
  annotations: { audience: [], requiresAuth: true },
  readOnly: false,
};
const textOf = ({ content }: CallResult): unknown => content[0]?.["text"];

describe("at the moment of expiry", () => {
  test("50 calls through two replicas all succeed with one refresh, 20 times out of 20", async () => {
    const one = await authorized();
    const { upstream, target } = one;
    const integrations = one.replicas.map((tokens) => integrationOf(one, tokens));
    for (let turn = 1; turn <= 20; turn += 1) {
      // The token expires by its clock, or the server rejects it before its expiry.
      if (turn % 2 === 0) one.pass(3_601_000);
      else upstream.vendor.expireTokens();
      const calls = Array.from({ length: 50 }, (_, index) => index).flatMap((index) => {
        const integration = integrations[index % 2];
        return integration === undefined
          ? []
          : [integration.callTool(target, ECHO, { text: String(index) }, { signal })];
      });
      const results = await Promise.all(calls);
      expect(results.filter(({ isError }) => isError).map(textOf)).toEqual([]);
      expect(results).toHaveLength(50);
      expect([turn, upstream.vendor.refreshes()]).toEqual([turn, turn]);
      // Replacements are limited for a vendor that rejects a token right after issuing it.
      if (turn % 2 === 1) one.pass(31_000);
    }
    expect(upstream.vendor.tokenRequests.map(({ status }) => status)).not.toContain(400);
    expect(one.needs).toEqual([]);
  });
});

describe("a token", () => {
  test("is returned synchronously while it is valid, without a query or request", async () => {
    const { replicas, target, origin, upstream } = await authorized();
    const [tokens] = replicas;
    const first = await tokens?.current(target, origin, signal);
    await databases[0]?.pool.query("delete from connection_grant");
    expect(tokens?.current(target, origin, signal)).toBe(first);
    expect(upstream.vendor.refreshes()).toBe(0);
  });

  test("is renewed before it expires without delaying calls, and every replica uses the renewed token", async () => {
    const { replicas, target, origin, upstream, pass } = await authorized();
    const firsts = await Promise.all(replicas.map(async (tokens) => tokens.current(target, origin, signal)));
    pass(3_600_000 - 60_000);
    expect(replicas.map((tokens) => tokens.current(target, origin, signal))).toEqual(firsts);
    await until(
      () => {
        const now = replicas.map((tokens) => tokens.current(target, origin, signal));
        return Promise.resolve(new Set(now).size === 1 && now[0] !== firsts[0]);
      },
      { what: "both have the same new one" },
    );
    expect(upstream.vendor.refreshes()).toBe(1);
  });

  test("is sent only to the origin for which it was issued", async () => {
    const { replicas, target, origin, upstream, needs } = await authorized();
    for (const tokens of replicas) {
      await tokens.current(target, origin, signal);
      const elsewhere = async () => tokens.current(target, "https://elsewhere.example", signal);
      expect((await failureOf(elsewhere())).kind).toBe("other");
      expect((await failureOf(tokens.renewed(target, "https://elsewhere.example", "x", signal))).kind).toBe("other");
    }
    expect(upstream.refused).toEqual([]);
    expect(needs).toEqual([]);
  });

  test("of an earlier key version is not used for a later version", async () => {
    const { replicas, target, origin, needs } = await authorized();
    const moved = { ...target, keyVersion: 3 };
    for (const tokens of replicas) {
      const failure = await failureOf(Promise.resolve(tokens.current(moved, origin, signal)));
      expect(failure.kind).toBe("ended");
    }
    expect(needs).toHaveLength(2);
  });

  test("is not replaced repeatedly if the server rejects each new token", async () => {
    const one = await authorized();
    const { replicas, target, origin, upstream } = one;
    const [tokens] = replicas;
    if (tokens === undefined) throw new Error("no replica");
    let token = await tokens.current(target, origin, signal);
    token = await tokens.renewed(target, origin, token, signal);
    const failure = await failureOf(tokens.renewed(target, origin, token, signal));
    expect(failure).toMatchObject({ kind: "refused" });
    expect(upstream.vendor.refreshes()).toBe(1);
    one.pass(31_000);
    expect(await tokens.renewed(target, origin, token, signal)).not.toBe(token);
  });
});

describe("a token endpoint that fails", () => {
  test("is retried with growing pauses while a valid token stays in use", async () => {
    const one = await authorized();
    const { replicas, target, origin, upstream } = one;
    const [tokens] = replicas;
    if (tokens === undefined) throw new Error("no replica");
    const first = await tokens.current(target, origin, signal);
    upstream.vendor.answerToken = (_request, response) => {
      response.writeHead(500).end();
      return true;
    };
    one.pass(3_600_000 - 30_000);
    for (const asked of [1, 2, 3]) {
      await until(() => {
        expect(tokens.current(target, origin, signal)).toBe(first);
        return Promise.resolve(upstream.vendor.refreshes() === asked);
      });
      // No request is sent before the pause is over.
      for (let again = 0; again < 5; again += 1) expect(tokens.current(target, origin, signal)).toBe(first);
      expect(upstream.vendor.refreshes()).toBe(asked);
      one.pass(2 ** (asked - 1) * 1_000);
    }
    one.pass(30_000);
    expect(await failureOf(Promise.resolve(tokens.current(target, origin, signal)))).toMatchObject({ kind: "down" });
    expect(one.needs).toEqual([]);
    upstream.vendor.answerToken = undefined;
    one.pass(60_000);
    expect(await tokens.current(target, origin, signal)).not.toBe(first);
  });

  test("does not block callers that abort, and its late answer is used", async () => {
    const { replicas, target, origin, upstream, pass } = await authorized();
    const [tokens, other] = replicas;
    if (tokens === undefined || other === undefined) throw new Error("no replicas");
    const first = await tokens.current(target, origin, signal);
    let answer = (_word: "send"): void => {};
    upstream.vendor.beforeAnswer = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    pass(3_601_000);
    const leaving = new AbortController();
    const waiting = Promise.resolve(tokens.current(target, origin, leaving.signal));
    await until(() => Promise.resolve(upstream.vendor.refreshes() === 1));
    const patient = Promise.resolve(other.current(target, origin, signal));
    leaving.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    answer("send");
    const got = await patient;
    expect(got).not.toBe(first);
    expect(await tokens.current(target, origin, signal)).toBe(got);
    expect(upstream.vendor.refreshes()).toBe(1);
  });
});

describe("an authorization that has ended", () => {
  test("is stored, so that no replica asks the vendor again and the owner sees the reason", async () => {
    const { replicas, target, origin, upstream, needs, pass } = await authorized();
    await Promise.all(replicas.map(async (tokens) => tokens.current(target, origin, signal)));
    upstream.vendor.endGrants();
    pass(3_601_000);
    const failures = await Promise.all(
      replicas.map((tokens) => failureOf(Promise.resolve(tokens.current(target, origin, signal)))),
    );
    for (const { kind, message } of failures) {
      expect(kind).toBe("ended");
      expect(message).toMatch(/invalid_grant.*authorize the connection again/);
    }
    expect(upstream.vendor.refreshes()).toBe(1);
    expect(new Set(needs.map(({ reason }) => reason)).size).toBe(1);
  });
});

describe("a scope that a call lacked", () => {
  test("is requested in addition to the granted scopes, once for many such calls", async () => {
    const { replicas, target, needs } = await authorized();
    const [tokens] = replicas;
    for (let turn = 0; turn < 3; turn += 1) await tokens?.extend(target, "tools.admin", "More is needed.");
    expect(needs).toEqual([{ reason: "More is needed.", wantedScope: "tools.read tools.admin" }]);
  });
});
