import { randomUUID } from "node:crypto";
import type pg from "pg";
import { PgBoss, type Db } from "pg-boss";
import type { Logger } from "pino";
import { isJsonObject, type JsonObject } from "../json.ts";
import type { Listener } from "./listener.ts";
import type { StatementRunner } from "./pool/reads.ts";
import { transaction } from "./transaction.ts";

/** Options of a queue. */
export interface QueueOptions {
  /** Maximum number of concurrent jobs per replica. Default: 2. */
  readonly concurrency?: number;
  /** Time limit of an attempt in seconds, after which the job is retried. Default: 60. */
  readonly expireInSeconds?: number;
  /** Number of retries. Default: unlimited, for up to two weeks. */
  readonly retryLimit?: number;
  /** The delay after the first failure, doubled with each further one up to the maximum. Default: 1 and 300 seconds. */
  readonly retryDelaySeconds?: number;
  readonly retryDelayMaxSeconds?: number;
}

/** When a job runs. */
export interface SendOptions {
  /**
   * A job is dropped when one with the same key still waits for its first attempt. The key must name everything that the
   * job depends on, because the waiting job may start before the sender's transaction commits.
   */
  readonly singletonKey?: string;
  readonly startAfterSeconds?: number;
}

/**
 * Runs a job. If it throws, the job is retried later. The signal aborts at the time limit or when the service stops.
 */
export type JobHandler = (payload: JsonObject, signal: AbortSignal) => Promise<void>;

/** The columns of a job that are used. */
type WorkableJob = { readonly id: string; readonly data?: unknown; readonly signal: AbortSignal };

/** Runs work that outlives the request and the process. Each job runs at least once, on any replica. */
export interface Jobs {
  /** Must be called first. Updates the tables of the queues. */
  start(): Promise<void>;
  /** Creates the queue if necessary and starts its worker. */
  work(queue: string, options: QueueOptions, handler: JobHandler): Promise<void>;
  /** Adds a job, in the transaction of `client` if given, and wakes the workers after the commit. */
  send(queue: string, payload: JsonObject, options?: SendOptions, client?: StatementRunner): Promise<void>;
  /** Waits a few seconds for running jobs; unfinished ones restart on another replica. */
  close(): Promise<void>;
}

/** Advisory lock for updating the tables of the queues at start. */
const SCHEMA_LOCK = 0x6a6f6273;

const POLL_SECONDS = 2;
/** Interval of maintenance, which one replica runs for all. */
const SUPERVISE_SECONDS = 2;
/** A job whose worker sends no heartbeat for this long is given to another replica. */
const HEARTBEAT_SECONDS = 3;
const HEARTBEAT_REFRESH_SECONDS = 1;
const DAY_SECONDS = 86_400;
const CLOSE_TIMEOUT_MS = 5_000;

function asDatabase(runner: StatementRunner): Db {
  return { executeSql: async (text, values) => await runner.query({ text, ...(values && { values }) }) };
}

/**
 * Creates jobs in the database's own queue (pg-boss). With a listener, workers wake as soon as a job is committed;
 * every 2 seconds, they poll for retries and for jobs whose notification was lost.
 */
export function createJobs(options: {
  readonly pool: pg.Pool;
  /** The pool for the lock while the tables are updated. Default: `pool`. */
  readonly maintenance?: pg.Pool;
  readonly log: Logger;
  readonly listener?: Listener;
}): Jobs {
  const { pool, log, listener } = options;
  const workerIds = new Map<string, string[]>();
  const database = asDatabase(pool);
  if (listener !== undefined) {
    database.listen = async (channel, onNotification, onReconnect) => {
      listener.onReconnect(onReconnect);
      await listener.listen(channel, onNotification);
      // The caller closes the listener.
      return { close: () => Promise.resolve() };
    };
  }
  const boss = new PgBoss({
    db: database,
    useListenNotify: listener !== undefined,
    schedule: false,
    superviseIntervalSeconds: SUPERVISE_SECONDS,
    monitorIntervalSeconds: SUPERVISE_SECONDS,
    // Jobs are not chained, and the queues are too small for index bloat.
    flowIntervalSeconds: DAY_SECONDS,
    reindex: false,
    monitorVacuum: false,
  });
  boss.on("error", (error) => log.error({ err: error }, "job queue"));
  boss.on("warning", (warning) => log.warn({ warning }, "job queue"));

  const run = async (queue: string, handler: JobHandler, job: WorkableJob): Promise<void> => {
    try {
      await handler(isJsonObject(job.data) ? job.data : {}, job.signal);
    } catch (error) {
      log.warn({ err: error, queue, job: job.id }, "job failed and will be retried");
      // pg-boss stores what is thrown; the error itself may carry more than should lie in a table.
      // eslint-disable-next-line preserve-caught-error
      throw new Error("failed");
    }
  };

  return {
    async start() {
      await transaction(options.maintenance ?? pool, async (client) => {
        await client.query("select pg_advisory_xact_lock($1)", [SCHEMA_LOCK]);
        await boss.start();
      });
    },
    async work(queue, settings, handler) {
      const queueOptions = {
        retryLimit: settings.retryLimit ?? 100_000,
        retryDelay: settings.retryDelaySeconds ?? 1,
        retryDelayMax: settings.retryDelayMaxSeconds ?? 300,
        retryBackoff: true,
        expireInSeconds: settings.expireInSeconds ?? 60,
        retentionSeconds: 14 * DAY_SECONDS,
        deleteAfterSeconds: 3_600,
        notify: listener !== undefined,
      };
      await boss.createQueue(queue, { ...queueOptions, policy: "short", heartbeatSeconds: 10 });
      await boss.updateQueue(queue, queueOptions);
      // pg-boss waits at least 10 seconds for a dead worker's job, longer than a person waits for a verification. Only
      // its validation prevents a smaller value.
      await pool.query("update pgboss.queue set heartbeat_seconds = $2 where name = $1", [queue, HEARTBEAT_SECONDS]);
      const ids: string[] = [];
      workerIds.set(queue, ids);
      for (let worker = 0; worker < (settings.concurrency ?? 2); worker += 1) {
        ids.push(
          await boss.work(
            queue,
            {
              pollingIntervalSeconds: POLL_SECONDS,
              notifyPollingIntervalSeconds: POLL_SECONDS,
              heartbeatRefreshSeconds: HEARTBEAT_REFRESH_SECONDS,
            },
            async (jobs) => {
              for (const job of jobs) await run(queue, handler, job);
            },
          ),
        );
      }
    },
    async send(queue, payload, sendOptions = {}, client) {
      await boss.send(queue, payload, {
        // The queue allows one waiting job per key, so jobs without a key get unique ones.
        singletonKey: sendOptions.singletonKey ?? randomUUID(),
        ...(sendOptions.startAfterSeconds === undefined ? {} : { startAfter: sendOptions.startAfterSeconds }),
        ...(client === undefined ? {} : { db: asDatabase(client) }),
      });
      if (listener === undefined && client === undefined) {
        for (const id of workerIds.get(queue) ?? []) boss.notifyWorker(id);
      }
    },
    async close() {
      await boss.stop({ close: false, graceful: true, timeout: CLOSE_TIMEOUT_MS });
    },
  };
}
