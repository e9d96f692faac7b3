import { DomainError } from "../domain-error.ts";
import type { Connection } from "./connection.ts";

/** The versions of a connection that a change is meant for: when it last changed, in milliseconds since 1970. Undefined: any. */
export type ExpectedVersions = readonly number[] | undefined;

/** Throws `stale` for a connection of another version than the change is meant for. */
export function checkVersion({ updatedAt }: Connection, expected: ExpectedVersions): void {
  if (expected?.includes(updatedAt.getTime()) === false) throw changedMeanwhile();
}

/** Somebody else's change came in between, or what the service itself found out. */
export function changedMeanwhile(): DomainError {
  return new DomainError("stale", "The connection has changed since it was read; read it again.");
}
