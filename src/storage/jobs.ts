import { randomUUID } from "node:crypto";
import type pg from "pg";
import { PgBoss, type Db } from "pg-boss";
import type { Logger } from "pino";
import { isJsonObject, type JsonObject } from "../json.ts";
import type { Listener } from "./listener.ts";
import type { StatementRunner } from "./reads.ts";
import { transaction } from "./transaction.ts";

/** How a queue treats its jobs. */
export interface QueueOptions {
  /** Jobs that one replica works on at a time; 2 unless said otherwise. */
  readonly concurrency?: number;
  /** How long one attempt may take before it is given up and tried again; 60 seconds unless said otherwise. */
  readonly expireInSeconds?: number;
  /** Attempts after the first; without end (up to two weeks) unless said otherwise. */
  readonly retryLimit?: number;
  /** The wait after the first failure, doubled with each further one up to the maximum; 1 and 300 seconds unless said otherwise. */
  readonly retryDelaySeconds?: number;
  readonly retryDelayMaxSeconds?: number;
}

/** When and how often a job runs. */
export interface SendOptions {
  /**
   * A job is dropped when one with the same key still waits for its first attempt. The key must name everything that the
   * job depends on, because the waiting job may start before the sender's transaction commits.
   */
  readonly singletonKey?: string;
  readonly startAfterSeconds?: number;
}

/** Works on one job; throwing has it tried again later. The signal aborts when its time is up or the service stops. */
export type JobHandler = (payload: JsonObject, signal: AbortSignal) => Promise<void>;

/** What we read of a job. */
type WorkableJob = { readonly id: string; readonly data?: unknown; readonly signal: AbortSignal };

/** Work that outlives the request, and the process, that asked for it. Each job runs at least once, on any replica. */
export interface Jobs {
  /** Must come first; brings the tables of the queues up to date. */
  start(): Promise<void>;
  /** Makes the queue, if need be, and works on it from now on. */
  work(queue: string, options: QueueOptions, handler: JobHandler): Promise<void>;
  /** Adds a job, in the transaction of `client` if one is given, and wakes the workers once that commits. */
  send(queue: string, payload: JsonObject, options?: SendOptions, client?: StatementRunner): Promise<void>;
  /** Lets running jobs end for a few seconds; what is still running then starts again on another replica. */
  close(): Promise<void>;
}

/** Names the advisory lock under which replicas that start together bring the tables of the queues up to date. */
const SCHEMA_LOCK = 0x6a6f6273;

const POLL_SECONDS = 2;
/** How often running jobs are seen to and dead ones put back; one replica does it for all. */
const SUPERVISE_SECONDS = 2;
/** A running job whose process has been silent for this long is given to another replica. */
const HEARTBEAT_SECONDS = 3;
const HEARTBEAT_REFRESH_SECONDS = 1;
const DAY_SECONDS = 86_400;
const CLOSE_TIMEOUT_MS = 5_000;

function asDatabase(runner: StatementRunner): Db {
  return { executeSql: async (text, values) => await runner.query({ text, ...(values && { values }) }) };
}

/**
 * Jobs in the database's own queue (pg-boss). With a listener, workers of every replica wake up as soon as a job is
 * committed; polling, every 2 seconds, finds retries and whatever a lost message left.
 */
export function createJobs(options: {
  readonly pool: pg.Pool;
  /** Holds the lock while the tables are brought up to date; `pool` unless told. */
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
      // The listener belongs to the caller, who closes it.
      return { close: () => Promise.resolve() };
    };
  }
  const boss = new PgBoss({
    db: database,
    useListenNotify: listener !== undefined,
    schedule: false,
    superviseIntervalSeconds: SUPERVISE_SECONDS,
    monitorIntervalSeconds: SUPERVISE_SECONDS,
    // We chain no jobs, and our queues are too small for their indexes to bloat.
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
      log.warn({ err: error, queue, job: job.id }, "job failed; it is tried again");
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
      // pg-boss lets a dead worker's job lie for 10 seconds at least (its lower bound for this setting), which is longer
      // than a person waits for a key to be verified. Nothing but the bound stands against less.
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
        // The queue lets one job wait for each key; jobs without one must not be in each other's way.
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
