import { DomainError } from "../domain-error.ts";

/** Node's error codes for an unreachable or disconnected peer. */
const NETWORK_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
]);

/**
 * SQLSTATEs of temporary errors: connection (08), resources (53), shutdown and start (57P0x), read-only after a
 * failover, and timeouts of statements, locks and idle transactions.
 */
const PASSING_STATES = /^(08...|53...|57P0[1-5]|25006|57014|55P03|25P0[34])$/;

/** The error text of `pg` for a statement without a response in time. */
const SILENCE = "Query read timeout";

/** The error text of `pg`, which has no code, for a broken connection. */
const BROKEN_CONNECTION =
  /connection terminated|client was closed|read timeout|timeout expired|timeout exceeded when trying to connect|connection error and is not queryable|connection ended/i;

/** The SQLSTATE or system code of an error, if any. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Whether a statement got no response in time. Its outcome is unknown and its connection unusable. */
export function isSilence(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.message === SILENCE || (error instanceof DomainError && isSilence(error.cause));
}

/** Whether the database was unreachable, as opposed to rejecting a statement. */
function isUnreachable(error: unknown): boolean {
  const code = errorCode(error);
  if (code !== undefined && (NETWORK_CODES.has(code) || PASSING_STATES.test(code))) return true;
  return error instanceof Error && BROKEN_CONNECTION.test(error.message);
}

/**
 * Translates a driver error: `unavailable` if the database is unreachable, `conflict` after a concurrent transaction,
 * otherwise the same error.
 */
export function translateDatabaseError(error: unknown): unknown {
  if (error instanceof DomainError) return error;
  if (isUnreachable(error)) {
    return new DomainError("unavailable", "The database cannot be reached. Try again shortly.", {
      cause: error,
      retryAfterSeconds: 1,
    });
  }
  const code = errorCode(error);
  if (code === "40001" || code === "40P01") {
    return new DomainError("conflict", "A concurrent change occurred. Try again.", { cause: error });
  }
  return error;
}
