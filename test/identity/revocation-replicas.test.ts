import { connect, createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Account } from "../../src/identity/account.ts";
import type { CreatedClient } from "../../src/identity/clients/clients.ts";
import { hashSecret } from "../../src/identity/hash-secret.ts";
import { createListener } from "../../src/storage/listener.ts";
import { revoke } from "../../src/storage/stores/identity/revocation.ts";
import { until } from "../support/until.ts";
import {
  insertConnection,
  type Installation,
  type Replica,
  startInstallation,
} from "../transport/oauth/installation.ts";

/** A proxy between a listener and PostgreSQL that can silently drop traffic. */
interface Wire {
  readonly url: string;
  /** Drops all traffic without closing connections. */
  swallow(): void;
  /** Closes the silent connections and forwards traffic again. */
  carry(): void;
  close(): void;
}

async function startWire(databaseUrl: string): Promise<Wire> {
  const target = new URL(databaseUrl);
  const pairs = new Set<Socket>();
  let isSwallowing = false;
  const server: Server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      pairs.add(from);
      from.on("error", () => undefined);
      from.on("close", () => {
        pairs.delete(from);
        to.destroy();
      });
      from.on("data", (chunk) => {
        if (!isSwallowing) to.write(chunk);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  const cut = (): void => {
    for (const socket of pairs) socket.destroy();
  };
  return {
    url: url.href,
    swallow: () => {
      isSwallowing = true;
    },
    carry: () => {
      isSwallowing = false;
      cut();
    },
    close: () => {
      cut();
      server.close();
    },
  };
}

let installation: Installation;
let replicas: readonly [Replica, Replica];
let account: Account;
let client: CreatedClient;
let token: string;

beforeAll(async () => {
  installation = await startInstallation();
  replicas = [await installation.startReplica(), await installation.startReplica()];
  account = await installation.newAccount();
});
afterAll(async () => {
  for (const replica of replicas) await replica.close();
  await installation.close();
});
beforeEach(async () => {
  client = await installation.clients.create(account, "mgmt.read");
  token = await installation.token(client);
  for (const replica of replicas) expect(await accepts(replica)).toBe(true);
});

async function accepts({ verifier }: Replica, text = token): Promise<boolean> {
  try {
    await verifier.verify(`Bearer ${text}`, [installation.issuer]);
    return true;
  } catch {
    return false;
  }
}

const refused = async (replica: Replica, text = token): Promise<boolean> => !(await accepts(replica, text));

async function terminateListeners(): Promise<void> {
  await installation.database.pool.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'patchbay listener' and datname = current_database()",
  );
}

/** The server process ids of the replicas' listeners. */
async function listeners(): Promise<readonly number[]> {
  const { rows } = await installation.database.pool.query<{ pid: number }>(
    "select pid from pg_stat_activity where application_name = 'patchbay listener' and datname = current_database() and state = 'idle'",
  );
  return rows.map(({ pid }) => pid);
}

describe("a revocation whose transaction commits late", () => {
  test("reaches every replica, even after later revocations did", async () => {
    const other = await installation.clients.create(account, "mgmt.read");
    const otherToken = await installation.token(other);
    const late = await installation.database.pool.connect();
    try {
      await late.query("begin");
      await revoke(late, { accountId: account.id, kind: "client", subject: client.clientId });
      await installation.clients.revoke(other.clientId);
      for (const replica of replicas) await until(() => refused(replica, otherToken));
      for (const replica of replicas) expect(await accepts(replica)).toBe(true);
      await late.query("commit");
    } finally {
      late.release();
    }
    for (const replica of replicas) await until(() => refused(replica));
  });

  test("reaches every replica, even if all listeners reconnected and reloaded before the commit", async () => {
    const late = await installation.database.pool.connect();
    try {
      await late.query("begin");
      await revoke(late, { accountId: account.id, kind: "client", subject: client.clientId });
      const before = await listeners();
      await terminateListeners();
      await until(async () => {
        const now = await listeners();
        return now.length === before.length && !now.some((pid) => before.includes(pid));
      });
      for (const replica of replicas) expect(await accepts(replica)).toBe(true);
      await late.query("commit");
    } finally {
      late.release();
    }
    for (const replica of replicas) await until(() => refused(replica));
  });

  test("is rolled back if tokens with more scopes could be issued before its commit", async () => {
    const own = { clientId: "own_of_a_late_commit", clientSecret: "a-secret-that-somebody-chose-for-it-0" };
    await insertConnection(installation, account, {
      clientId: own.clientId,
      secretHash: hashSecret(installation.pepper, own.clientSecret),
      scopes: ["mcp.read", "mcp.write"],
    });
    const late = await installation.database.pool.connect();
    let failure: unknown;
    late.on("error", (error) => (failure = error));
    await late.query("begin");
    await late.query("update oauth_client set scopes = '{mcp.read}' where id = $1", [own.clientId]);
    const request = { kind: "client", subject: own.clientId, issuedBefore: new Date() } as const;
    await revoke(late, { accountId: account.id, ...request });
    // Its process hangs before the commit.
    await until(async () => failure !== undefined);
    await expect(late.query("commit")).rejects.toThrow();
    late.release(true);
    const { rows } = await installation.database.pool.query("select scopes from oauth_client where id = $1", [
      own.clientId,
    ]);
    expect(rows).toEqual([{ scopes: ["mcp.read", "mcp.write"] }]);
  });
});

describe("a replica", () => {
  test("rejects a token that is revoked while its listener is terminated", async () => {
    await Promise.all([terminateListeners(), installation.clients.revoke(client.clientId)]);
    for (const replica of replicas) await until(() => refused(replica));
  });

  test("rejects each revoked token while its listener is terminated repeatedly", async () => {
    for (let round = 0; round < 5; round += 1) {
      const each = await installation.clients.create(account, "mgmt.read");
      const text = await installation.token(each);
      for (const replica of replicas) expect(await accepts(replica, text)).toBe(true);
      await terminateListeners();
      await installation.clients.revoke(each.clientId);
      for (const replica of replicas) await until(() => refused(replica, text));
    }
  });

  test("rejects revoked tokens and accepts others while its listener silently receives nothing", async () => {
    const wire = await startWire(installation.databaseUrl);
    const listener = createListener({ url: wire.url, log: pino({ level: "silent" }) });
    const replica = await installation.startReplica(listener);
    const kept = await installation.token(await installation.clients.create(account, "mgmt.read"));
    await until(async () => listener.isHealthy());
    expect(await accepts(replica)).toBe(true);
    wire.swallow();
    await installation.clients.revoke(client.clientId);
    await until(() => refused(replica));
    expect(listener.isHealthy()).toBe(false);
    expect(await accepts(replica, kept)).toBe(true);
    wire.carry();
    await until(async () => listener.isHealthy());
    expect(await accepts(replica)).toBe(false);
    expect(await accepts(replica, kept)).toBe(true);
    await replica.close();
    await listener.close();
    wire.close();
  });

  test("reads revocations from the database if its listener never connects", async () => {
    const wire = await startWire(installation.databaseUrl);
    wire.swallow();
    const listener = createListener({ url: wire.url, log: pino({ level: "silent" }) });
    const replica = await installation.startReplica(listener);
    expect(await accepts(replica)).toBe(true);
    await installation.clients.revoke(client.clientId);
    expect(await accepts(replica)).toBe(false);
    await replica.close();
    wire.close();
    await listener.close();
  });
});
