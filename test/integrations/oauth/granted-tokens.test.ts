import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { pino } from "pino";
import type { AuthorizationNeed } from "../../../src/connections/connection-store.ts";
import type { Target } from "../../../src/integrations/integration.ts";
import { createMcpIntegration } from "../../../src/integrations/mcp/mcp-integration.ts";
import type { AuthorizationTerms } from "../../../src/integrations/oauth/authorization.ts";
import { toKeptTokens } from "../../../src/integrations/oauth/grant.ts";
import { createGrantedTokens, type GrantedTokens } from "../../../src/integrations/oauth/granted-tokens.ts";
import { refreshTokens } from "../../../src/integrations/oauth/refresh-tokens.ts";
import { createRenewalSlots } from "../../../src/integrations/oauth/renewal-slots.ts";
import type { CallResult, ToolDefinition } from "../../../src/integrations/tool.ts";
import { openDatabase, type Database } from "../../../src/storage/database.ts";
import { createSealer } from "../../../src/storage/sealing.ts";
import { createGrantStore } from "../../../src/storage/stores/connection-grant.ts";
import { sealGrant } from "../../../src/storage/stores/sealed-grant.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { obtain, startSubject, type Subject, termsOf } from "./support.ts";

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

/** A connection that its owner has authorised at a vendor, on replicas whose clocks the test moves. */
interface Authorized extends Subject {
  readonly terms: AuthorizationTerms;
  readonly origin: string;
  readonly target: Target;
  readonly replicas: readonly GrantedTokens[];
  /** What the owner was asked for. */
  readonly needs: AuthorizationNeed[];
  /** Moves the clocks of the replicas on, in milliseconds. */
  pass(ms: number): void;
}

async function authorized(lifetimeSeconds = 3_600): Promise<Authorized> {
  const subject = await startSubject();
  const { upstream, dispatcher } = subject;
  upstream.vendor.ttl.accessToken = lifetimeSeconds;
  const terms = termsOf(upstream);
  const tokens = toKeptTokens(await obtain(upstream, terms, dispatcher), Date.now());
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
      store: createGrantStore({ reads, pool, sealer }),
      refresh: (of, refreshToken, until) => refreshTokens(of, refreshToken, dispatcher, until),
      requireAuthorization: (_target, need) => Promise.resolve(needs.push(need)),
      slots: createRenewalSlots({ total: 4, perServer: 3 }),
      now: () => Date.now() + passedMs,
    }),
  );
  const { origin } = new URL(upstream.url);
  return { ...subject, terms, origin, target, replicas, needs, pass: (ms) => (passedMs += ms) };
}

/** A replica's MCP integration. */
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
  test("50 calls through two replicas all succeed by one refresh, 20 times out of 20", async () => {
    const one = await authorized();
    const { upstream, target } = one;
    const integrations = one.replicas.map((tokens) => integrationOf(one, tokens));
    for (let turn = 1; turn <= 20; turn += 1) {
      // Either by the clock, or the server takes the tokens no longer before they expire.
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
      // A third party that refuses what it has just given would be asked no more for a while.
      if (turn % 2 === 1) one.pass(31_000);
    }
    expect(upstream.vendor.tokenRequests.map(({ status }) => status)).not.toContain(400);
    expect(one.needs).toEqual([]);
  });
});
