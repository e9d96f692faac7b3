import { DomainError } from "../../domain-error.ts";
import type { Catalog, Integration, Verification } from "../../integrations/integration.ts";
import { missingCredentialReason } from "../configuration.ts";
import type { Connection } from "../connection.ts";
import type { ConnectionStore } from "../connection-store.ts";
import type { ConnectionTools } from "../connection-tools.ts";
import type { ConnectionView } from "../connection-view.ts";
import type { DueVerification } from "./verification-queue.ts";

/** What verifying needs. */
export interface VerifierDeps {
  readonly catalog: Catalog;
  readonly connections: ConnectionStore;
  readonly view: ConnectionView;
  readonly tools: ConnectionTools;
}

/** Verifies a key; answers after how many seconds to try again, or undefined when there is a result. */
export type VerifyKey = (due: DueVerification, signal: AbortSignal) => Promise<number | undefined>;

const TIMEOUT_MS = 30_000;
const LONGEST_PAUSE_SECONDS = 300;
/** Attempts of a recheck; a third party that answers none of them is asked again when the key is due next. */
const RECHECK_ATTEMPTS = 8;

/** How long to wait after so many unanswered attempts: 1 s, doubling, 5 minutes at most. */
export function pauseSeconds(attempt: number): number {
  return Math.min(2 ** attempt, LONGEST_PAUSE_SECONDS);
}

/**
 * Verifies the key of a connection with one real call (DESIGN §6 «verification»): `verified`, `failed`, or still `pending`
 * with a reason, or its owner is asked to log in at the upstream. A recheck without an answer leaves the connection as it is.
 * A result counts only for the key it tested.
 */
export function createVerification(deps: VerifierDeps): VerifyKey {
  return async ({ accountId, connectionId, keyVersion, attempt }, signal) => {
    const connection = await deps.connections.find(accountId, connectionId);
    if (connection?.keyVersion !== keyVersion) return undefined;
    const seen = await look(deps, connection, signal);
    if (seen === undefined) return undefined;
    const record = (status: "pending" | "verified" | "failed", reason: string | undefined): Promise<boolean> =>
      deps.connections.recordVerification(accountId, connectionId, keyVersion, status, reason);
    if (seen.outcome === "retry") {
      if (connection.verificationStatus === "pending") await record("pending", seen.reason);
      else if (attempt + 1 >= RECHECK_ATTEMPTS) return undefined;
      return pauseSeconds(attempt);
    }
    if (seen.outcome === "needs_authorization") {
      await deps.connections.requireAuthorization(accountId, connectionId, keyVersion, { reason: seen.reason });
      return undefined;
    }
    await record(seen.outcome, seen.outcome === "failed" ? seen.reason : undefined);
    // The tools are there by the time their owner looks.
    if (seen.outcome === "verified") await deps.tools.of(connection);
    return undefined;
  };
}

/** Without a key, or without an authorisation that is in use, there is nothing to verify. */
function canBeVerified(integration: Integration, connection: Connection): boolean {
  if (connection.authMethod === "oauth2")
    return !connection.needsAuthorization || connection.verificationStatus === "verified";
  return missingCredentialReason(integration, connection.hasCredential) === undefined;
}

async function look(
  deps: VerifierDeps,
  connection: Connection,
  signal: AbortSignal,
): Promise<Verification | undefined> {
  const integration = deps.catalog.get(connection.serverType);
  if (integration === undefined)
    return { outcome: "retry", reason: `This installation has no integration ${connection.serverType}.` };
  if (!canBeVerified(integration, connection)) return undefined;
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), TIMEOUT_MS);
  try {
    const either = AbortSignal.any([controller.signal, signal]);
    const seen = await integration.verify(await deps.view.target(connection), { signal: either });
    // Cut off by us: that says nothing of the key.
    signal.throwIfAborted();
    return seen;
  } catch (error) {
    if (error instanceof DomainError || signal.aborted || !controller.signal.aborted) throw error;
    return { outcome: "retry", reason: `The third party did not answer within ${TIMEOUT_MS / 1000} seconds.` };
  } finally {
    clearTimeout(timer);
  }
}
