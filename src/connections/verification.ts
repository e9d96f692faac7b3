import { DomainError } from "../domain-error.ts";
import type { Catalog, Integration, Verification } from "../integrations/integration.ts";
import { missingCredentialReason } from "./configuration.ts";
import type { Connection } from "./connection.ts";
import type { ConnectionStore } from "./connection-store.ts";
import type { ConnectionTools } from "./connection-tools.ts";
import type { ConnectionView } from "./connection-view.ts";

/** A verification to be done: durable, so that it survives a restart. */
export interface VerificationJob {
  readonly accountId: string;
  readonly connectionId: number;
  /** The version of the key to test; a newer key has a job of its own. */
  readonly keyVersion: number;
  /** How often the third party gave no answer so far. */
  readonly attempt: number;
  /** Whether the key was verified before: then the connection keeps its status until this one tells otherwise. */
  readonly isRecheck: boolean;
}

/** What verifying needs. */
export interface VerifierDeps {
  readonly catalog: Catalog;
  readonly connections: ConnectionStore;
  readonly view: ConnectionView;
  readonly tools: ConnectionTools;
  /** Puts a job in the queue, to be taken up after so many seconds. */
  readonly schedule: (job: VerificationJob, afterSeconds: number) => Promise<void>;
}

const TIMEOUT_MS = 30_000;
const LONGEST_PAUSE_SECONDS = 300;
/** Attempts of a recheck; a third party that answers none of them is asked again when the key is due next. */
const RECHECK_ATTEMPTS = 8;

/** How long to wait after so many unanswered attempts: 1 s, doubling, 5 minutes at most. */
export function pauseSeconds(attempt: number): number {
  return Math.min(2 ** attempt, LONGEST_PAUSE_SECONDS);
}

/**
 * Verifies the key of a connection with one real call (DESIGN §6 «verification»): `verified`, `failed`, or still
 * `pending` with a reason and another attempt later, or its owner is asked to log in at the third party; a recheck without an answer leaves the connection as it is. A result
 * counts only for the key it tested.
 */
export function createVerification(deps: VerifierDeps): (job: VerificationJob) => Promise<void> {
  return async (job) => {
    const connection = await deps.connections.find(job.accountId, job.connectionId);
    if (connection?.keyVersion !== job.keyVersion) return;
    const seen = await look(deps, connection);
    if (seen === undefined) return;
    const record = (status: "pending" | "verified" | "failed", reason: string | undefined): Promise<boolean> =>
      deps.connections.recordVerification(job.accountId, job.connectionId, job.keyVersion, status, reason);
    if (seen.outcome === "retry") {
      if (job.isRecheck && job.attempt + 1 >= RECHECK_ATTEMPTS) return;
      const pause = pauseSeconds(job.attempt);
      // Scheduled first: a crash in between costs a needless attempt, never the verification.
      await deps.schedule({ ...job, attempt: job.attempt + 1 }, pause);
      if (!job.isRecheck) await record("pending", seen.reason);
      return;
    }
    if (seen.outcome === "needs_authorization") {
      const { accountId, connectionId, keyVersion } = job;
      await deps.connections.requireAuthorization(accountId, connectionId, keyVersion, { reason: seen.reason });
      return;
    }
    await record(seen.outcome, seen.outcome === "failed" ? seen.reason : undefined);
    // The tools are there by the time their owner looks.
    if (seen.outcome === "verified") await deps.tools.of(connection);
  };
}

/** Without a key, or without an authorisation that is in use, there is nothing to verify. */
function canBeVerified(integration: Integration, connection: Connection): boolean {
  if (connection.authMethod === "oauth2")
    return !connection.needsAuthorization || connection.verificationStatus === "verified";
  return missingCredentialReason(integration, connection.hasCredential) === undefined;
}

async function look(deps: VerifierDeps, connection: Connection): Promise<Verification | undefined> {
  const integration = deps.catalog.get(connection.serverType);
  if (integration === undefined)
    return { outcome: "retry", reason: `This installation has no integration ${connection.serverType}.` };
  if (!canBeVerified(integration, connection)) return undefined;
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), TIMEOUT_MS);
  try {
    return await integration.verify(await deps.view.target(connection), { signal: controller.signal });
  } catch (error) {
    if (error instanceof DomainError) throw error;
    if (!controller.signal.aborted) throw error;
    return { outcome: "retry", reason: `The third party did not answer within ${TIMEOUT_MS / 1000} seconds.` };
  } finally {
    clearTimeout(timer);
  }
}
