import { DomainError } from "../../domain-error.ts";

/** Tasks that an account may hold (DESIGN §8). */
export const MAX_TASKS = 1_000;
/**
 * Maximum number of tasks of an account that one replica follows in upstream sessions; each of them sends requests
 * there.
 */
export const MAX_ATTENDED_TASKS = 100;
/** The longest stored state of a task, in characters. */
export const MAX_STORED_LENGTH = 1_048_576;
/** The longest time that a task is kept after its creation, in milliseconds: a day. */
const MAX_TTL_MS = 86_400_000;

/** Returns how long a task is kept. Undefined means that the upstream states no end. */
export function keptMs(ttlMs = MAX_TTL_MS): number {
  return Math.min(ttlMs, MAX_TTL_MS);
}

export function unknownTask(): DomainError {
  return new DomainError("not_found", "Unknown task: it does not exist, has expired, or belongs to another client.");
}

/** The error for an account that has reached a limit, because of which the task of the call was canceled. */
export function tooManyTasks(limit: string): DomainError {
  const message =
    `The account ${limit}, which is the limit, so this one was canceled. ` +
    "Whether the call took effect is not known. Try again when tasks have expired.";
  return new DomainError("exhausted", message);
}
