import { DomainError } from "../domain-error.ts";

/** Node's codes for a peer that cannot be reached or has gone. */
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
 * SQLSTATEs that pass by themselves: connection trouble (08), resources (53), shutdown and start (57P0x), read-only after a
 * failover, a statement, lock or idle transaction that took too long.
 */
const PASSING_STATES = /^(08...|53...|57P0[1-5]|25006|57014|55P03|25P0[34])$/;

/** What `pg` says when a statement got no answer in time. */
const SILENCE = "Query read timeout";

/** What `pg` says, without any code, when a connection breaks under it. */
const BROKEN_CONNECTION =
  /connection terminated|client was closed|read timeout|timeout expired|timeout exceeded when trying to connect|connection error and is not queryable|connection ended/i;

/** The SQLSTATE or system code of an error, if it carries one. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Whether a statement got no answer in time, so that nobody knows what became of it and its connection is of no use. */
export function isSilence(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.message === SILENCE || (error instanceof DomainError && isSilence(error.cause));
}

/** Whether the database was out of reach, as opposed to having refused a statement. */
export function isUnreachable(error: unknown): boolean {
  const code = errorCode(error);
  if (code !== undefined && (NETWORK_CODES.has(code) || PASSING_STATES.test(code))) return true;
  return error instanceof Error && BROKEN_CONNECTION.test(error.message);
}

/**
 * The error a store throws in place of what the driver threw: `unavailable` when the database is out of reach,
 * `conflict` when PostgreSQL gave way to a concurrent transaction, the same error otherwise (it is a fault of ours).
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
    return new DomainError("conflict", "Another change came in between. Try again.", { cause: error });
  }
  return error;
}
