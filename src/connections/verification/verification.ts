import { DomainError } from "../../domain-error.ts";
import type { Catalog, Integration, Verification } from "../../integrations/integration.ts";
import { missingCredentialReason } from "../configuration.ts";
import type { Connection } from "../connection.ts";
import type { ConnectionStore } from "../connection-store.ts";
import type { ConnectionTools } from "../connection-tools.ts";
import type { ConnectionView } from "../connection-view.ts";
import type { DueVerification } from "./verification-queue.ts";

export interface VerifierDeps {
  readonly catalog: Catalog;
  readonly connections: ConnectionStore;
  readonly view: ConnectionView;
  readonly tools: ConnectionTools;
}

/** Verifies a key. Returns the seconds until a retry, or undefined if there is a result. */
export type VerifyKey = (due: DueVerification, signal: AbortSignal) => Promise<number | undefined>;

const TIMEOUT_MS = 30_000;
const LONGEST_PAUSE_SECONDS = 300;
/** Attempts of a recheck. Without a response, the next attempt is at the next due time. */
const RECHECK_ATTEMPTS = 8;

/** The pause after unanswered attempts in seconds: 1, doubling, at most 300. */
export function pauseSeconds(attempt: number): number {
  return Math.min(2 ** attempt, LONGEST_PAUSE_SECONDS);
}

/**
 * Verifies a key with one real call (DESIGN §6 «verification»). The result is `verified`, `failed`, still `pending`
 * with a reason, or a request to its owner to log in. A recheck without a response changes nothing. A result counts
 * only for the tested key.
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
    await record(seen.outcome, seen.reason);
    // Loads the tools before their owner opens them.
    if (seen.outcome === "verified") await deps.tools.of(connection);
    return undefined;
  };
}

/** A connection without a key or a usable authorization cannot be verified. */
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
    // The service canceled the call, so the result is meaningless.
    signal.throwIfAborted();
    return seen;
  } catch (error) {
    if (error instanceof DomainError || signal.aborted || !controller.signal.aborted) throw error;
    return { outcome: "retry", reason: `The upstream did not answer within ${TIMEOUT_MS / 1000} seconds.` };
  } finally {
    clearTimeout(timer);
  }
}
