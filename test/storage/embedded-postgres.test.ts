import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import pg from "pg";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openDatabase } from "../../src/storage/database.ts";
import { findUnprivilegedUser, type OsUser } from "../../src/storage/embedded/os-user.ts";
import { startEmbeddedPostgres, stopUnusedPostgres } from "../../src/storage/embedded-postgres.ts";

const log = pino({ level: "silent" });
const isRoot = process.getuid?.() === 0;
const script = new URL("../support/embedded-process.ts", import.meta.url).pathname;

// Each test starts several processes and databases, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let folder: string;
let dataDir: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "patchbay-embedded-"));
  await chmod(folder, 0o777);
  dataDir = join(folder, "data");
});

afterEach(async () => {
  // One more start finds and stops what a test killed or left running.
  if (await stat(join(dataDir, "postgres")).catch(() => undefined)) {
    const postgres = await startEmbeddedPostgres({ dataDir, log });
    await postgres.stop();
  }
  await rm(folder, { recursive: true, force: true });
});

/** Starts another process that uses the embedded database. */
async function startProcess(user: Partial<OsUser> = {}) {
  const child = spawn(process.execPath, [script, dataDir], { stdio: ["pipe", "pipe", "pipe"], cwd: "/", ...user });
  const exited = once(child, "exit");
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => (complaint += chunk.toString()));
  const lines = createInterface({ input: child.stdout });
  const url = await Promise.race([
    once(lines, "line").then(([line]) => String(line)),
    exited.then(() => {
      throw new Error(complaint);
    }),
  ]);
  return {
    url,
    async stop() {
      child.stdin.end();
      await exited;
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(statement);
    return rows;
  } finally {
    await client.end();
  }
}

async function postmasterPid(): Promise<number> {
  return Number((await readFile(join(dataDir, "postgres/data/postmaster.pid"), "utf8")).split("\n")[0]);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function isRunning(): Promise<boolean> {
  return await postmasterPid().then(
    () => true,
    () => false,
  );
}

test("data and address survive a stop and a start", async () => {
  const first = await startEmbeddedPostgres({ dataDir, log });
  await query(first.url, "create table kept (value text); insert into kept values ('here')");
  await first.stop();
  expect(await isRunning()).toBe(false);

  const second = await startEmbeddedPostgres({ dataDir, log });
  expect(second.url).toBe(first.url);
  expect(await query(second.url, "select value from kept")).toEqual([{ value: "here" }]);
  await second.stop();
});

test("only the owner can read the password, and a connection requires it", async () => {
  const postgres = await startEmbeddedPostgres({ dataDir, log });
  expect((await stat(join(dataDir, "postgres/password"))).mode & 0o777).toBe(0o600);
  const url = new URL(postgres.url);
  url.password = "guess";
  await expect(query(url.href, "select 1")).rejects.toThrow(/password authentication failed/);
  await postgres.stop();
});

test("the database stops when its process is killed, and the next start finds its data", async () => {
  const killed = await startProcess();
  await query(killed.url, "create table kept (value text); insert into kept values ('here')");
  const pid = await postmasterPid();
  await killed.kill();
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 60_000 });
  expect(await isRunning()).toBe(false);

  const next = await startEmbeddedPostgres({ dataDir, log });
  expect(next.url).toBe(killed.url);
  expect(await query(next.url, "select value from kept")).toEqual([{ value: "here" }]);
  await next.stop();
  expect(await isRunning()).toBe(false);
});

test("the database continues for another process when one is killed", async () => {
  const killed = await startProcess();
  const other = await startProcess();
  const pid = await postmasterPid();
  await killed.kill();
  // By then the watchdog of the killed process has checked for other users.
  await stopUnusedPostgres({ dataDir, log });
  expect(await query(other.url, "select 1 as one")).toEqual([{ one: 1 }]);
  expect(await postmasterPid()).toBe(pid);
  await other.kill();
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 60_000 });
});

test("a process that starts while a watchdog stops the database gets a running one", async () => {
  const killed = await startProcess();
  await killed.kill();
  const next = await startProcess();
  expect(await query(next.url, "select 1 as one")).toEqual([{ one: 1 }]);
  await next.stop();
  expect(await isRunning()).toBe(false);
});

test("committed data survives when process and database are both killed", async () => {
  const killed = await startProcess();
  await query(killed.url, "create table kept (value text); insert into kept values ('here')");
  process.kill(await postmasterPid(), "SIGKILL");
  await killed.kill();

  const next = await startEmbeddedPostgres({ dataDir, log });
  expect(await query(next.url, "select value from kept")).toEqual([{ value: "here" }]);
  await next.stop();
});

test("a killed database restarts under its running process, and the pool recovers", async () => {
  const postgres = await startEmbeddedPostgres({ dataDir, log });
  const database = await openDatabase({ url: postgres.url, poolSize: 3 });
  await Promise.all([1, 2, 3].map(() => database.pool.query("select pg_sleep(0.05)")));
  const pid = await postmasterPid();
  process.kill(pid, "SIGKILL");
  // Its server processes may respond a little longer.
  await vi.waitFor(async () => expect(await postmasterPid()).not.toBe(pid), { timeout: 20_000 });
  await vi.waitFor(async () => expect((await database.pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]), {
    timeout: 20_000,
  });
  await database.close();
  await postgres.stop();
});

test("processes that start concurrently on an empty folder share one database", async () => {
  const processes = await Promise.all([startProcess(), startProcess(), startProcess()]);
  expect(new Set(processes.map(({ url }) => url)).size).toBe(1);
  await Promise.all(processes.map((process) => process.stop()));
  expect(await isRunning()).toBe(false);
});

test("the database stays up until the last process that uses it stops", async () => {
  const server = await startProcess();
  const command = await startEmbeddedPostgres({ dataDir, log });
  expect(command.url).toBe(server.url);
  await command.stop();
  expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  await server.stop();
  expect(await isRunning()).toBe(false);
});

test("a stale lock file whose process id was reused does not prevent a start", async () => {
  const killed = await startProcess();
  const pid = await postmasterPid();
  const lockFile = join(dataDir, "postgres/data/postmaster.pid");
  const stale = await readFile(lockFile, "utf8");
  process.kill(pid, "SIGKILL");
  await killed.kill();
  const other = spawn("sleep", ["60"], { stdio: "ignore", ...(await findUnprivilegedUserIfRoot()) });
  await writeFile(lockFile, stale.replace(String(pid), String(other.pid)));

  const next = await startEmbeddedPostgres({ dataDir, log });
  expect(await query(next.url, "select 1 as one")).toEqual([{ one: 1 }]);
  await next.stop();
  other.kill();
});

async function findUnprivilegedUserIfRoot(): Promise<Partial<OsUser>> {
  return isRoot ? ((await findUnprivilegedUser()) ?? {}) : {};
}

test("rejects a folder of another PostgreSQL version with one line", async () => {
  const postgres = await startEmbeddedPostgres({ dataDir, log });
  await postgres.stop();
  const versionFile = join(dataDir, "postgres/data/PG_VERSION");
  await writeFile(versionFile, "12\n");
  await expect(startEmbeddedPostgres({ dataDir, log })).rejects.toThrow(
    /^.* was created by PostgreSQL 12, but this is PostgreSQL \d+.*$/,
  );
  await writeFile(versionFile, "18\n");
});

test("an ordinary user runs the database as itself", async ({ skip }) => {
  skip(!isRoot, "only root can start a process as another user");
  const user = (await findUnprivilegedUser()) ?? { uid: 65534, gid: 65534 };
  const ordinary = await startProcess(user);
  expect(await query(ordinary.url, "select 1 as one")).toEqual([{ one: 1 }]);
  expect((await stat(join(dataDir, "postgres/data"))).uid).toBe(user.uid);
  await ordinary.stop();
});

test("rejects a folder of another user with one line", async ({ skip }) => {
  skip(!isRoot, "only root can start a process as another user");
  const root = await startEmbeddedPostgres({ dataDir, log });
  await root.stop();
  await expect(startProcess({ uid: 65534, gid: 65534 })).rejects.toThrow(/belongs to another user/);
});

test("root can start it below a folder that other users cannot enter", async ({ skip }) => {
  skip(!isRoot, "only root starts PostgreSQL as another user");
  const closed = join(folder, "closed");
  await mkdir(closed, { mode: 0o700 });
  dataDir = join(closed, "data");
  const postgres = await startEmbeddedPostgres({ dataDir, log });
  expect(await query(postgres.url, "select 1 as one")).toEqual([{ one: 1 }]);
  expect((await stat(closed)).mode & 0o777).toBe(0o700);
  await postgres.stop();
  const again = await startEmbeddedPostgres({ dataDir, log });
  expect(again.url).toBe(postgres.url);
  await again.stop();
  await rm(await realpath(join(dataDir, "postgres")), { recursive: true });
  await rm(join(dataDir, "postgres"), { recursive: true });
});
