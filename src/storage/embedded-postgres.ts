import { stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Logger } from "pino";
import { prepareCluster, type Cluster } from "./embedded/cluster.ts";
import { clusterUrl, connectToRunning, ensureRunning, readPostmaster } from "./embedded/postmaster.ts";
import { startWatchdog } from "./embedded/watchdog.ts";
import { ignoreError } from "./ignore-error.ts";
import { errorCode } from "./storage-error.ts";

/** A PostgreSQL that the service runs itself, used without `DATABASE_URL`. */
export interface EmbeddedPostgres {
  /** The address with password. It stays the same when the database restarts. */
  readonly url: string;
  /** Shuts the database down unless another process of the service uses it. */
  stop(): Promise<void>;
}

/** The name of the service's database in the cluster. */
const DATABASE = "patchbay";

/** An advisory lock that each process using the cluster holds in shared mode. It ends with the process. */
const PRESENCE_LOCK = 0x70726573;

const STOP_TIMEOUT_MS = 15_000;

/** How long PostgreSQL may take to notice the end of a process, and to start. */
const NOTICE_MS = 10_000;
const POLL_MS = 200;

async function createDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("select from pg_database where datname = $1", [DATABASE]);
  if (rowCount === 1) return;
  await client.query(`create database ${DATABASE}`).catch((error: unknown) => {
    // Another process created it meanwhile: duplicate_database, or unique_violation if both ran at the same time.
    if (errorCode(error) !== "42P04" && errorCode(error) !== "23505") throw error;
  });
}

/** Registers as a user of the cluster. Retries if the cluster was stopped meanwhile because its last user left. */
async function joinUsers(cluster: Cluster): Promise<{ client: pg.Client; port: number; started: boolean }> {
  for (let attempt = 1; ; attempt += 1) {
    const running = await ensureRunning(cluster);
    try {
      await running.client.query("select pg_advisory_lock_shared($1)", [PRESENCE_LOCK]);
      await createDatabase(running.client);
      return running;
    } catch (error) {
      await running.client.end().catch(ignoreError);
      if (attempt === 5) throw error;
    }
  }
}

/** Fast shutdown. Returns when PostgreSQL has removed its lock file, its last action. */
async function shutDown(cluster: Cluster): Promise<void> {
  const running = await readPostmaster(cluster);
  if (running === undefined) return;
  process.kill(running.pid, "SIGINT");
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  while ((await readPostmaster(cluster))?.pid === running.pid) {
    if (Date.now() > deadline) throw new Error(`the embedded PostgreSQL (process ${running.pid}) does not stop`);
    await sleep(10);
  }
}

/**
 * Stops the PostgreSQL in `<dataDir>/postgres` if it runs unused; never creates anything. For use after a process was
 * killed.
 */
export async function stopUnusedPostgres(options: { readonly dataDir: string; readonly log: Logger }): Promise<void> {
  const deadline = Date.now() + NOTICE_MS;
  while (Date.now() < deadline) {
    await sleep(POLL_MS);
    const found = await stat(join(options.dataDir, "postgres/data/postmaster.pid")).catch(() => undefined);
    if (found === undefined) continue;
    const cluster = await prepareCluster(options.dataDir, options.log);
    const client = await connectToRunning(cluster);
    if (client === undefined) continue;
    try {
      const { rows } = await client.query<{ alone: boolean }>("select pg_try_advisory_lock($1) as alone", [
        PRESENCE_LOCK,
      ]);
      if (rows[0]?.alone === true) {
        await shutDown(cluster);
        return;
      }
    } finally {
      await client.end().catch(ignoreError);
    }
  }
}

/**
 * Ensures that the PostgreSQL in `<dataDir>/postgres` runs: finds the running one or starts it. Restarts it if it dies
 * while this process lives. When this process is killed, the database stops unless another process of the service uses
 * it.
 */
export async function startEmbeddedPostgres(options: {
  readonly dataDir: string;
  readonly log: Logger;
}): Promise<EmbeddedPostgres> {
  const { log } = options;
  const cluster = await prepareCluster(options.dataDir, log);
  const watchdog = startWatchdog(options.dataDir, log);
  let stopping = false;
  let presence: pg.Client;
  let restarting: Promise<void> | undefined;

  const watch = (client: pg.Client): void => {
    presence = client;
    client.once("end", () => {
      if (!stopping) restarting ??= restart().finally(() => (restarting = undefined));
    });
  };
  const restart = async (): Promise<void> => {
    for (let waitMs = 100; !stopping; waitMs = Math.min(waitMs * 2, 5_000)) {
      try {
        log.warn("the embedded PostgreSQL stopped unexpectedly; restarting it");
        const again = await joinUsers(cluster);
        watch(again.client);
        if (again.port !== first.port) log.error("the embedded PostgreSQL has changed its port; restart the service");
        return;
      } catch (error) {
        log.error({ err: error }, "the embedded PostgreSQL cannot be restarted");
        await sleep(waitMs, undefined, { ref: false });
      }
    }
  };

  const first = await joinUsers(cluster);
  watch(first.client);
  log.debug({ port: first.port, started: first.started }, "embedded PostgreSQL is ready");
  return {
    url: clusterUrl(cluster, first.port, DATABASE),
    async stop() {
      if (stopping) return;
      stopping = true;
      await restarting;
      try {
        // In this order, so that of several processes stopping at once the last one is alone. A process that starts
        // meanwhile waits for the lock, is disconnected by the shutdown, and starts the database again.
        const { rows } = await presence.query<{ alone: boolean }>(
          "select pg_advisory_unlock_shared($1), pg_try_advisory_lock($1) as alone",
          [PRESENCE_LOCK],
        );
        if (rows[0]?.alone === true) await shutDown(cluster);
      } catch (error) {
        log.warn({ err: error }, "the embedded PostgreSQL was not stopped cleanly");
      } finally {
        await presence.end().catch(ignoreError);
        watchdog.dismiss();
      }
    },
  };
}
