import { DomainError } from "../domain-error.ts";
import type { Connection } from "./connection.ts";

/** The versions of `If-Match`: last changes in milliseconds since 1970. Undefined allows any. */
export type ExpectedVersions = readonly number[] | undefined;

/** Throws `stale` for another version. */
export function checkVersion({ updatedAt }: Connection, expected: ExpectedVersions): void {
  if (expected?.includes(updatedAt.getTime()) === false) throw changedMeanwhile();
}

/** The connection was changed by another caller or by a verification. */
export function changedMeanwhile(): DomainError {
  return new DomainError("stale", "The connection has changed since it was read; read it again.");
}
