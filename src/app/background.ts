import type { Logger } from "pino";
import type { ChangeFeed } from "../connections/change-feed.ts";
import type { RevokeGrants } from "../connections/authorization/revoke-grants.ts";
import type { VerifyKey } from "../connections/verification/verification.ts";
import type { VerificationQueue } from "../connections/verification/verification-queue.ts";
import { startVerificationRunner } from "../connections/verification/verification-runner.ts";
import type { JsonObject } from "../json.ts";
import type { Webhooks } from "./webhooks.ts";
import type { Jobs } from "../storage/jobs.ts";
import { repeat, runSteps } from "../sweep.ts";
import type { PurgeAccount } from "../storage/stores/identity/purge-account.ts";
import type { Purge } from "../storage/stores/connections/purge.ts";

/** Purges after deletions, and after the retention of call payloads is shortened. */
export const PURGE_QUEUE = "purge-connection";
/** Purges deleted organizations. */
export const PURGE_ACCOUNT_QUEUE = "purge-account";
/** Revokes tokens at authorization servers. */
export const REVOKE_QUEUE = "revoke-grant";

/** Retries for about five hours. */
const REVOCATION = { retryLimit: 12, retryDelaySeconds: 5, retryDelayMaxSeconds: 3_600 };

export interface BackgroundDeps {
  readonly jobs: Jobs;
  /** Notifies of new connections and keys on any replica. */
  readonly feed: ChangeFeed;
  readonly verifications: VerificationQueue;
  readonly verify: VerifyKey;
  readonly purge: Purge;
  readonly webhooks: Pick<Webhooks, "startRunner" | "outbox">;
  readonly purgeAccount: PurgeAccount;
  /** Revokes the unused tokens of a connection. */
  readonly revokeGrants: RevokeGrants;
  /** Fetches documents that are due and deletes unused ones. */
  readonly refreshDocuments: () => Promise<void>;
  /** Deletes definitions that no connection refers to. */
  readonly purgeDefinitions: () => Promise<void>;
  /** Creates the next partitions of the history and drops expired ones. */
  readonly renewHistory: () => Promise<void>;
  readonly endIdleSessions: () => Promise<number>;
  /** Rotates signing keys that are due. */
  readonly maintainKeys: () => Promise<void>;
  /** Continues unfinished backfills. */
  readonly workOnBackfills: () => Promise<void>;
  readonly log: Logger;
}

/**
 * Starts the queue workers, the verifications, the webhook deliveries and the sweeps. Returns a function that stops all
 * but the first.
 */
export async function startBackground(deps: BackgroundDeps): Promise<() => Promise<unknown>> {
  await deps.jobs.start();
  await deps.jobs.work(PURGE_QUEUE, { concurrency: 1, expireInSeconds: 300 }, async (payload) => {
    const { accountId, connectionId } = toConnectionRef(payload);
    if (payload["what"] === "contents") await deps.purge.contents(accountId, connectionId);
    else await deps.purge.connection(accountId, connectionId);
  });
  await deps.jobs.work(PURGE_ACCOUNT_QUEUE, { concurrency: 1, expireInSeconds: 300 }, async ({ accountId }) => {
    if (typeof accountId !== "string") throw new TypeError("a job names no account");
    // A large history is deleted in several steps, of at most some seconds each.
    while ((await deps.purgeAccount(accountId, () => {})) === "unfinished");
  });
  await deps.jobs.work(REVOKE_QUEUE, REVOCATION, async (payload, signal) => {
    const { accountId, connectionId } = toConnectionRef(payload);
    await deps.revokeGrants(accountId, connectionId, signal);
  });
  await deps.workOnBackfills();
  await deps.renewHistory().catch((error: unknown) => {
    // Calls without a partition are stored anyway, and the sweep moves them later.
    deps.log.warn({ err: error }, "the history's partitions could not be created; retrying");
  });
  const { verifications: queue, verify, log } = deps;
  const runner = startVerificationRunner({ queue, verify, log });
  const deliveries = deps.webhooks.startRunner();
  deps.feed.onChange(({ accountId, event }) => {
    if (event === "created" || event === "updated") runner.wake();
    if (!deps.webhooks.outbox.isQuiet(accountId)) deliveries.wake();
  });
  const stopSweep = repeat(() => runSteps(sweepSteps(deps), log));
  // Run separately, so that a slow address does not delay the other steps.
  const { refreshDocuments, purgeDefinitions } = deps;
  const stopRefresh = repeat(() => runSteps({ refreshDocuments, purgeDefinitions }, log));
  return () => {
    stopSweep();
    stopRefresh();
    return Promise.all([runner.close(), deliveries.close()]);
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

function toConnectionRef({ accountId, connectionId }: JsonObject): {
  readonly accountId: string;
  readonly connectionId: number;
} {
  if (typeof accountId !== "string") throw new TypeError("a job names no account");
  if (typeof connectionId !== "number") throw new TypeError("a job names no connection");
  return { accountId, connectionId };
}
