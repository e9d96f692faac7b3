import { spawn } from "node:child_process";
import { open, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { ignoreError } from "../ignore-error.ts";
import { errorCode } from "../storage-error.ts";
import { PROGRAM_ENV, ROLE, type Cluster } from "./cluster.ts";

/** The database that always exists; ours is created from here. */
const MAINTENANCE_DATABASE = "postgres";

/** Size above which the log is rotated at the next start, in bytes. */
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;

/** Time limit of a start, which may include crash recovery. */
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 20;
/**
 * How long a lock file may block the start before it is inspected. PostgreSQL removes the lock file of a killed
 * postmaster sooner.
 */
const STALE_LOCK_MS = 1_000;

/** Settings of the embedded database that differ from PostgreSQL's defaults. */
function settings(port: number): readonly string[] {
  const values = {
    port: String(port),
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "200",
    shared_buffers: "128MB",
    fsync: "on",
    timezone: "UTC",
    log_timezone: "UTC",
    // Statements and error details contain user data, so they are not logged.
    log_min_messages: "warning",
    log_min_error_statement: "panic",
    log_error_verbosity: "terse",
    log_checkpoints: "off",
  };
  return Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

/** Returns the address of a database in the cluster, with the password. */
export function clusterUrl(cluster: Cluster, port: number, database: string): string {
  return `postgres://${ROLE}:${cluster.password}@127.0.0.1:${port}/${database}`;
}

/** The content of `postmaster.pid`, which describes the running or last postmaster. */
export async function readPostmaster(cluster: Cluster): Promise<{ pid: number; port: number } | undefined> {
  const lines = (await readFile(join(cluster.pgdata, "postmaster.pid"), "utf8").catch(() => "")).split("\n");
  const pid = Number(lines[0]);
  return Number.isInteger(pid) && pid > 0 ? { pid, port: Number(lines[3]) || 0 } : undefined;
}

/** Connects to the running cluster. Returns `starting` while it starts or stops, undefined if it does not run. */
async function connect(cluster: Cluster, port: number): Promise<pg.Client | "starting" | undefined> {
  const client = new pg.Client({
    connectionString: clusterUrl(cluster, port, MAINTENANCE_DATABASE),
    connectionTimeoutMillis: 5_000,
    application_name: "patchbay presence",
    keepAlive: true,
  });
  client.on("error", ignoreError);
  try {
    await client.connect();
    // A copied data folder names the port of its original, so the data directory of the responding server is checked.
    const { rows } = await client.query<{ folder: string }>("select current_setting('data_directory') as folder");
    if (rows[0]?.folder === (await realpath(cluster.pgdata)) || rows[0]?.folder === cluster.pgdata) return client;
    await client.end();
    return undefined;
  } catch (error) {
    await client.end().catch(ignoreError);
    return errorCode(error)?.startsWith("57P0") === true ? "starting" : undefined;
  }
}

/** Connects to the running cluster. Returns undefined if it does not run, or is starting or stopping. */
export async function connectToRunning(cluster: Cluster): Promise<pg.Client | undefined> {
  const running = await readPostmaster(cluster);
  const client = running === undefined || running.port === 0 ? undefined : await connect(cluster, running.port);
  return client === "starting" ? undefined : client;
}

async function freePort(): Promise<number> {
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once("error", reject);
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
  });
  return await promise;
}

/** The end of a postmaster that another process stopped. */
const STOPPED = "it was stopped";

/** Starts a postmaster that outlives this process. `exited` resolves with its last log lines if it ends. */
async function launch(cluster: Cluster, port: number): Promise<{ exited: () => Promise<string | undefined> }> {
  const before = await stat(cluster.logFile).catch(() => undefined);
  if (before !== undefined && before.size > LOG_LIMIT_BYTES) await rename(cluster.logFile, `${cluster.logFile}.1`);
  const log = await open(cluster.logFile, "a", 0o600);
  try {
    const offset = (await log.stat()).size;
    // Detached, so that Ctrl-C in the terminal reaches only the service, which stops the database after its last
    // request.
    const child = spawn(cluster.binaries.postgres, ["-D", cluster.pgdata, ...settings(port)], {
      cwd: "/",
      env: PROGRAM_ENV,
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
      ...cluster.user,
    });
    let ended: string | undefined;
    let isStopped = false;
    child.once("error", (error) => (ended = error.message));
    child.once("exit", (code, signal) => {
      ended ??= `PostgreSQL ended with ${signal ?? `code ${code}`}`;
      isStopped = code === 0;
    });
    child.unref();
    return {
      async exited() {
        if (ended === undefined) return undefined;
        if (isStopped) return STOPPED;
        const said = (await readFile(cluster.logFile)).subarray(offset).toString();
        return (
          said
            .split("\n")
            .filter((line) => /FATAL|could not/.test(line))
            .join(" ")
            .trim() || ended
        );
      },
    };
  } finally {
    await log.close();
  }
}

/**
 * Whether the pid in `postmaster.pid` belongs to no PostgreSQL: it was reused, or is a zombie that was not reaped
 * (common in containers), which PostgreSQL considers alive.
 */
async function isForeign(pid: number): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => undefined);
  return command !== undefined && !command.includes("postgres");
}

/**
 * Connects to the running cluster; starts it if it does not run, and waits while another process starts or stops it.
 * PostgreSQL's own lock file decides between concurrent starts; the loser connects to the winner's.
 */
export async function ensureRunning(cluster: Cluster): Promise<{ client: pg.Client; port: number; started: boolean }> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  let started: { exited: () => Promise<string | undefined> } | undefined;
  let port = 0;
  let reason = "it did not respond in time";
  let lockedSince: number | undefined;
  while (Date.now() < deadline) {
    const running = await readPostmaster(cluster);
    if (running !== undefined && running.port > 0) {
      const client = await connect(cluster, running.port);
      if (client === "starting") {
        await sleep(POLL_MS);
        continue;
      }
      if (client !== undefined) {
        await writeFile(cluster.portFile, `${running.port}\n`, { mode: 0o600 });
        return { client, port: running.port, started: started !== undefined && running.port === port };
      }
    }
    const ended = await started?.exited();
    if (ended !== undefined) {
      reason = ended;
      started = undefined;
      if (ended === STOPPED) {
        // The watchdog of a killed process stopped it before this process had registered, so it is started again.
      } else if (/lock file|shared memory block/.test(ended)) {
        // Another process is starting it, or a killed postmaster left files behind; the next iteration connects or
        // retries.
        lockedSince ??= Date.now();
        if (running !== undefined && Date.now() - lockedSince > STALE_LOCK_MS && (await isForeign(running.pid))) {
          await rm(join(cluster.pgdata, "postmaster.pid"), { force: true });
        }
        await sleep(100);
      } else if (/could not bind|could not create any TCP/.test(ended)) {
        await rm(cluster.portFile, { force: true });
      } else {
        break;
      }
    }
    if (started === undefined) {
      port = Number(await readFile(cluster.portFile, "utf8").catch(() => "")) || (await freePort());
      started = await launch(cluster, port);
    }
    await sleep(POLL_MS);
  }
  throw new Error(`the embedded PostgreSQL does not start: ${reason} (see ${cluster.logFile})`);
}
