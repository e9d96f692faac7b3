import type { Logger } from "pino";
import type { ChangeFeed } from "../connections/change-feed.ts";
import type { RevokeGrants } from "../connections/authorization/revoke-grants.ts";
import type { VerifyKey } from "../connections/verification/verification.ts";
import type { VerificationQueue } from "../connections/verification/verification-queue.ts";
import { startVerificationRunner } from "../connections/verification/verification-runner.ts";
import type { JsonObject } from "../json.ts";
import type { Jobs } from "../storage/jobs.ts";
import type { Purge } from "../storage/stores/connections/purge.ts";

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
  /** Tells of new connections and keys, on any replica. */
  readonly feed: ChangeFeed;
  readonly verifications: VerificationQueue;
  readonly verify: VerifyKey;
  readonly purge: Purge;
  /** Revokes the tokens that a connection uses no longer. */
  readonly revokeGrants: RevokeGrants;
  /** Fetches documents that are due again, and drops those that nobody uses. */
  readonly refreshDocuments: () => Promise<void>;
  /** Deletes definitions of tools that no connection refers to any more. */
  readonly purgeDefinitions: () => Promise<void>;
  /** Makes the partitions of the history that will be needed and drops those that are too old. */
  readonly renewHistory: () => Promise<void>;
  readonly endIdleSessions: () => Promise<number>;
  /** Rotates the signing keys that are due. */
  readonly maintainKeys: () => Promise<void>;
  readonly log: Logger;
}

/** Starts the workers of the queues, the verifications and the sweeps; answers how to stop the last two. */
export async function startBackground(deps: BackgroundDeps): Promise<() => Promise<void>> {
  await deps.jobs.start();
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
  const { verifications: queue, verify, log } = deps;
  const runner = startVerificationRunner({ queue, verify, log });
  deps.feed.onChange(({ event }) => {
    if (event === "created" || event === "updated") runner.wake();
  });
  const stopSweep = repeat(() => runSteps(sweepSteps(deps), log));
  // By itself: an address that is slow to answer must not hold up the rest.
  const { refreshDocuments, purgeDefinitions } = deps;
  const stopRefresh = repeat(() => runSteps({ refreshDocuments, purgeDefinitions }, log));
  return () => {
    stopSweep();
    stopRefresh();
    return runner.close();
  };
}

function sweepSteps(deps: BackgroundDeps): Readonly<Record<string, () => Promise<unknown>>> {
  return {
    addMissingVerifications: () => deps.verifications.addMissing(),
    endIdleSessions: deps.endIdleSessions,
    purgeExpired: () => deps.purge.expired(),
    renewHistory: deps.renewHistory,
    maintainKeys: deps.maintainKeys,
  };
}

/** Runs each step, whatever becomes of the others: one that throws is logged, and tried again by the next sweep. */
export async function runSteps(steps: Readonly<Record<string, () => Promise<unknown>>>, log: Logger): Promise<void> {
  for (const [step, run] of Object.entries(steps)) {
    try {
      await run();
    } catch (error) {
      log.warn({ err: error, step }, "a step of the sweep failed; the next sweep tries it again");
    }
  }
}

/** Does the work again and again, about a minute after it last ended; jitter keeps replicas that started together apart. */
function repeat(work: () => Promise<void>): () => void {
  let timer: NodeJS.Timeout | undefined;
  const schedule = (): void => {
    timer = setTimeout(() => void work().then(schedule), SWEEP_MS * (0.5 + Math.random())).unref();
  };
  schedule();
  return () => {
    clearTimeout(timer);
  };
}

function toConnectionRef({ accountId, connectionId }: JsonObject): {
  readonly accountId: string;
  readonly connectionId: number;
} {
  if (typeof accountId !== "string") throw new TypeError("a job names no account");
  if (typeof connectionId !== "number") throw new TypeError("a job names no connection");
  return { accountId, connectionId };
}
