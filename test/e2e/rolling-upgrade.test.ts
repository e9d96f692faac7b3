import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openAccounts } from "../support/accounts.ts";
import { type Balancer, startBalancer } from "../support/balancer.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type MixedLoad, startMixedLoad } from "../support/mixed-load.ts";
import { createOwner } from "../support/owner.ts";
import { checkOutPrevious, previousVersionMissing } from "../support/previous-version.ts";
import { createMasterKeys, type Service, type ServiceOptions, startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

/** The balancer's interval, in milliseconds. A replica waits much longer than that before it closes connections. */
const HEALTH_CHECK_MS = 100;
const TIME_LIMIT_MS = 600_000;
/** Calls of each protocol after each step, so that every step happens under load. */
const CALLS_PER_STEP = 30;

let database: TestDatabase;
let upstream: Upstream;
let balancer: Balancer;
let options: ServiceOptions;
let running: Set<Service>;

beforeEach(async () => {
  [database, upstream, balancer] = await Promise.all([
    createTestDatabase({ empty: true }),
    startUpstream(),
    startBalancer(HEALTH_CHECK_MS),
  ]);
  running = new Set();
  options = {
    databaseUrl: database.url,
    masterKeys: createMasterKeys(),
    env: {
      OUTBOUND_ALLOW: upstream.host,
      PUBLIC_URL: "http://patchbay.example.com:8080",
      SHUTDOWN_DELAY_SECONDS: "2",
    },
  };
});

afterEach(async () => {
  await Promise.all([...running].map((service) => service.kill()));
  await Promise.all([balancer.close(), upstream.close()]);
  await database.close();
});

/** Starts a replica and waits until the balancer sends requests to it. */
async function startReplica(folder?: string): Promise<Service> {
  const service = await startService({ ...options, readyWithinMs: 180_000, ...(folder !== undefined && { folder }) });
  running.add(service);
  balancer.add(service.url);
  await until(() => Promise.resolve(balancer.healthy().includes(service.url)), {
    what: "the balancer uses the replica",
  });
  return service;
}

async function stopReplica(service: Service): Promise<void> {
  expect(await service.stop()).toBe(0);
  running.delete(service);
}

async function startLoad(): Promise<MixedLoad> {
  const [replica] = running;
  const accounts = await openAccounts(replica?.env ?? {});
  onTestFinished(() => accounts.close());
  const token = await (await accounts.create()).token();
  const owner = createOwner(createProtocolClient("rest", balancer.url), token);
  const id = await owner.create({ server_type: "mcp", name: "Load", configuration: { url: upstream.url } });
  await owner.waitFor(id, "verified");
  return await startMixedLoad(balancer, upstream, token, id);
}

async function moreCalls(load: MixedLoad): Promise<void> {
  const before = load.calls();
  await until(
    () =>
      Promise.resolve(
        ["rest", "grpc", "mcp"].every((name) => (load.calls()[name] ?? 0) >= (before[name] ?? 0) + CALLS_PER_STEP),
      ),
    { what: "more calls of each protocol", withinMs: 60_000 },
  );
}

async function expectNothingLost(load: MixedLoad): Promise<void> {
  await load.stop();
  expect([...new Set(load.failures)].slice(0, 10)).toEqual([]);
  expect(await load.lostWrites()).toEqual([]);
}

describe("behind a load balancer with health checks", () => {
  test(
    "replicas restart one after the other without a failed call or a lost write",
    async () => {
      const replicas = [await startReplica(), await startReplica()];
      const load = await startLoad();
      for (const replica of replicas) {
        await moreCalls(load);
        await stopReplica(replica);
        await moreCalls(load);
        await startReplica();
      }
      await moreCalls(load);
      await expectNothingLost(load);
    },
    TIME_LIMIT_MS,
  );

  test(
    "replicas are upgraded from the previous version without a failed call or a lost write",
    async ({ skip }) => {
      const missing = previousVersionMissing();
      if (missing !== undefined) skip(missing);
      const { folder, remove } = await checkOutPrevious();
      onTestFinished(remove);
      const old = [await startReplica(folder), await startReplica(folder)];
      const load = await startLoad();
      await moreCalls(load);
      // Migrates the database while only the previous version serves.
      const replicas = [await startReplica()];
      // A replica of the previous version that starts now finds a newer schema.
      old.push(await startReplica(folder));
      for (const replica of old) {
        await moreCalls(load);
        // The previous version closes connections as soon as it gets the signal, so the balancer leaves it before.
        await balancer.drain(replica.url);
        await stopReplica(replica);
      }
      replicas.push(await startReplica());
      await moreCalls(load);
      for (const replica of replicas) expect(replica.output()).not.toMatch(/"level":50/);
      await expectNothingLost(load);
    },
    TIME_LIMIT_MS,
  );
});
