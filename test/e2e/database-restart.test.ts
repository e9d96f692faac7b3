import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/storage/embedded-postgres.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { watchRest } from "../support/watch.ts";

let dataDir: string;
let postgres: EmbeddedPostgres;
let upstream: Upstream;
let service: Service;
let accounts: TestAccounts;
let owner: Owner;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "patchbay-restart-"));
  // A separate cluster. Its starter restarts it on the same port when it dies.
  [postgres, upstream] = await Promise.all([
    startEmbeddedPostgres({ dataDir, log: pino({ level: "silent" }) }),
    startUpstream(),
  ]);
  service = await startService({ databaseUrl: postgres.url, env: { OUTBOUND_ALLOW: upstream.host } });
  accounts = await openAccounts(service.env);
  owner = createOwner(createProtocolClient("rest", service.url), await (await accounts.create()).token());
  await accounts.close();
});

afterAll(async () => {
  await service?.kill();
  await upstream?.close();
  await postgres?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function postmaster(): Promise<number> {
  return Number((await readFile(join(dataDir, "postgres", "data", "postmaster.pid"), "utf8")).split("\n")[0]);
}

/** Callers that repeat calls until stopped, and the responses they received. */
function load(
  callerCount: number,
  call: () => Promise<{ readonly status: number | string; readonly message: string }>,
) {
  const statuses: string[] = [];
  let isOver = false;
  const callers = Array.from({ length: callerCount }, async () => {
    while (!isOver) {
      try {
        const { status, message } = await call();
        statuses.push(status === 200 || status === "ok" ? "ok" : `${status} ${message}`);
      } catch (error) {
        statuses.push(`thrown ${String(error)}`);
      }
    }
  });
  return {
    statuses,
    async stop() {
      isOver = true;
      await Promise.all(callers);
    },
  };
}

test.each(["SIGINT", "SIGQUIT"] as const)(
  "recovers automatically after PostgreSQL stops by %s under load",
  async (signal) => {
    const id = await owner.create({ server_type: "mcp", configuration: { url: upstream.url } });
    await owner.waitFor(id, "verified");
    const session = await owner.open();
    const rest = createProtocolClient("rest", service.url);
    const grpc = createProtocolClient("grpc", service.url);
    const { token } = owner;
    const loads = [
      load(4, () => rest.call("ListConnections", { token })),
      load(4, () => grpc.call("GetConnection", { token, input: { server_id: id } })),
      // Only one caller, because concurrent changes of one connection conflict by design.
      load(1, () =>
        rest.call("UpdateConnection", { token, input: { server_id: id, description: String(Math.random()) } }),
      ),
      load(4, () => rest.call("CallTool", { token, headers: session, input: { name: `look_up__${id}` } })),
    ];
    const settled = async (): Promise<boolean> => {
      const from = loads.map(({ statuses }) => statuses.length);
      await until(
        () => Promise.resolve(loads.every(({ statuses }, index) => statuses.length >= (from[index] ?? 0) + 20)),
        { withinMs: 40_000, what: "20 answers to each" },
      );
      const since = loads.flatMap(({ statuses }, index) => statuses.slice(from[index]));
      const wrong = since.filter((status) => status !== "ok");
      if (wrong.length > 0) throw new Error(`unexpected responses: ${[...new Set(wrong)].join(", ")}`);
      return true;
    };
    await settled();

    const before = await postmaster();
    process.kill(before, signal);
    await until(async () => (await postmaster()) !== before, { what: "PostgreSQL is back" });
    await until(settled, { withinMs: 40_000, what: "every answer is right again" });
    await Promise.all(loads.map((each) => each.stop()));

    // Failures during the outage are server errors with a message.
    const failures = loads.flatMap(({ statuses }) => statuses).filter((status) => status !== "ok");
    for (const failure of failures) expect(failure).toMatch(/^(50[03]|internal|unavailable) \S+/);

    // Jobs, notifications and revocation work again.
    const another = await owner.create({ server_type: "mcp", configuration: { url: upstream.url } });
    await owner.waitFor(another, "verified");
    const watch = watchRest(service.url, owner.token, another);
    await watch.event(({ event }) => event === "snapshot", "snapshot");
    await owner.call("UpdateConnection", { server_id: another, name: "Seen" });
    await watch.event((event) => event["event"] === "updated" && JSON.stringify(event).includes("Seen"), "the change");
    watch.close();
    const { id: pat, token: fresh } = await service.command(
      "pat",
      "create",
      "--account",
      await email(),
      "--scope",
      "mgmt.read",
    );
    expect((await rest.call("ListConnections", { token: String(fresh) })).status).toBe(200);
    await service.command("pat", "revoke", String(pat));
    await until(async () => (await rest.call("ListConnections", { token: String(fresh) })).status === 401);
  },
  120_000,
);

/** The account of a token, by its `sub`. */
function email(): Promise<string> {
  const payload = JSON.parse(Buffer.from(owner.token.split(".")[1] ?? "", "base64url").toString()) as { sub: string };
  return Promise.resolve(payload.sub);
}
