import type pg from "pg";
import type { Logger } from "pino";
import type { Connection } from "../connections/connection.ts";
import type { RevokeGrants } from "../connections/revoke-grants.ts";
import { createEarlyRecheck } from "../connections/early-recheck.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import type { VerificationJob } from "../connections/verification.ts";
import type { Jobs } from "../storage/jobs.ts";
import { createDueVerifications } from "../storage/stores/connections/due-verification.ts";
import type { Purge } from "../storage/stores/connections/purge.ts";

/** Queue of key verifications. */
export const VERIFY_QUEUE = "verify-key";
/** Queue of purges after deletions, and after the contents of calls are kept for a shorter time. */
export const PURGE_QUEUE = "purge-connection";
/** Queue of revocations of tokens at third parties. */
export const REVOKE_QUEUE = "revoke-grant";

/** A third party that does not revoke within about five hours is left with the tokens. */
const REVOCATION = { retryLimit: 12, retryDelaySeconds: 5, retryDelayMaxSeconds: 3_600 };

const SWEEP_MS = 60_000;

/** What runs without being asked. */
export interface BackgroundDeps {
  readonly jobs: Jobs;
  readonly verify: (job: VerificationJob) => Promise<void>;
  readonly purge: Purge;
  /** Revokes the tokens that a connection uses no longer. */
  readonly revokeGrants: RevokeGrants;
  /** Fetches documents that are due again, and drops those that nobody uses. */
  readonly refreshDocuments: () => Promise<void>;
  /** Makes the partitions of the history that will be needed and drops those that are too old. */
  readonly renewHistory: () => Promise<void>;
  /** Queues the verification of the keys that are due for another one. */
  readonly recheckKeys: () => Promise<number>;
  readonly endIdleSessions: () => Promise<number>;
  /** Rotates the signing keys that are due. */
  readonly maintainKeys: () => Promise<void>;
  readonly log: Logger;
}

/** Starts the workers of the queues and the sweep of what has expired; answers how to stop the sweep. */
export async function startBackground(deps: BackgroundDeps): Promise<() => void> {
  await deps.jobs.start();
  await deps.jobs.work(VERIFY_QUEUE, { concurrency: 8, expireInSeconds: 60 }, (payload) =>
    deps.verify(toVerificationJob(payload)),
  );
  await deps.jobs.work(PURGE_QUEUE, { concurrency: 1, expireInSeconds: 300 }, async (payload) => {
    const { accountId, connectionId } = toConnectionRef(payload);
    if (payload["what"] === "contents") await deps.purge.contents(accountId, connectionId);
    else await deps.purge.connection(accountId, connectionId);
  });
  await deps.jobs.work(REVOKE_QUEUE, REVOCATION, async (payload, signal) => {
    const { accountId, connectionId } = toConnectionRef(payload);
    await deps.revokeGrants(accountId, connectionId, signal);
  });
  await deps.renewHistory().catch((error: unknown) => {
    // Calls are kept all the same; the sweep sorts them in later.
    deps.log.warn({ err: error }, "the history's partitions could not be renewed; it is tried again");
  });
  const stopSweep = repeat(
    async () => {
      await deps.endIdleSessions();
      await deps.purge.expired();
      await deps.renewHistory();
      await deps.recheckKeys();
      await deps.maintainKeys();
    },
    (error) => {
      deps.log.warn({ err: error }, "the sweep of expired rows failed; it is tried again");
    },
  );
  // By itself: an address that is slow to answer must not hold up the rest.
  const stopRefresh = repeat(deps.refreshDocuments, (error) => {
    deps.log.warn({ err: error }, "documents could not be refreshed; it is tried again");
  });
  return () => {
    stopSweep();
    stopRefresh();
  };
}

/** Does the work again and again, about a minute after it last ended; jitter keeps replicas that started together apart. */
function repeat(work: () => Promise<void>, onError: (error: unknown) => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const schedule = (): void => {
    timer = setTimeout(() => void work().catch(onError).then(schedule), SWEEP_MS * (0.5 + Math.random())).unref();
  };
  schedule();
  return () => {
    clearTimeout(timer);
  };
}

/** What has a verified key verified again: those that are `due`, and `early` one that a call was refused with. */
export interface Rechecks {
  readonly due: () => Promise<number>;
  readonly early: (connection: Connection) => void;
}

/** Rechecks through the queue of verifications. */
export function createRechecks({ pool, jobs, log }: { pool: pg.Pool; jobs: Jobs; log: Logger }): Rechecks {
  return {
    due: createDueVerifications({
      pool,
      enqueue: (client, due) =>
        jobs.send(VERIFY_QUEUE, fromVerificationJob({ ...due, attempt: 0, isRecheck: true }), {}, client),
    }),
    early: createEarlyRecheck({
      schedule: (job) =>
        jobs.send(VERIFY_QUEUE, fromVerificationJob(job), {
          // Replicas that are refused at the same time need one answer.
          singletonKey: `recheck/${job.connectionId}/${job.keyVersion}`,
        }),
      onError: (error) => log.warn({ err: error }, "a key that was refused could not be queued for verification"),
    }),
  };
}

/** The payload of a verification job. */
export function fromVerificationJob({
  accountId,
  connectionId,
  keyVersion,
  attempt,
  isRecheck,
}: VerificationJob): JsonObject {
  return { accountId, connectionId, keyVersion, attempt, isRecheck };
}

function toVerificationJob(payload: JsonObject): VerificationJob {
  return {
    ...toConnectionRef(payload),
    keyVersion: wholeNumber(payload["keyVersion"]),
    attempt: wholeNumber(payload["attempt"]),
    isRecheck: payload["isRecheck"] === true,
  };
}

function toConnectionRef({ accountId, connectionId }: JsonObject): Pick<VerificationJob, "accountId" | "connectionId"> {
  if (typeof accountId !== "string") throw new TypeError("a job names no account");
  return { accountId, connectionId: wholeNumber(connectionId) };
}

function wholeNumber(value: JsonValue | undefined): number {
  if (typeof value !== "number") throw new TypeError("a job's payload lacks a number");
  return value;
}
