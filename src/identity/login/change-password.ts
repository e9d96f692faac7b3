import { DomainError, invalid } from "../../domain-error.ts";
import { hashPassword, NO_PASSWORD_HASH, verifyPassword } from "../accounts/password.ts";
import type { BoundedWork } from "./bounded-work.ts";
import type { CredentialStore } from "./credentials.ts";
import type { LoginLimits } from "./login-limits.ts";
import type { LoginSession } from "./login-session.ts";

/** In characters. Only the length is restricted, as NIST SP 800-63B recommends. */
export const PASSWORD_LENGTH = { min: 12, max: 256 } as const;

export interface PasswordChange {
  readonly current: string;
  readonly next: string;
  readonly repeated: string;
  /** The client's IP address, for the limit of attempts. */
  readonly address: string;
}

/**
 * Changes the password and ends all other login sessions. Throws `invalid` naming the field for an unacceptable
 * password, `forbidden` if the current one is wrong, and `exhausted` after too many attempts.
 */
export type ChangePassword = (session: LoginSession, change: PasswordChange) => Promise<void>;

function checkNew({ email }: LoginSession, { current, next, repeated }: PasswordChange): void {
  const { length } = Array.from(next);
  if (length < PASSWORD_LENGTH.min || length > PASSWORD_LENGTH.max) {
    throw invalid("next", `A new password has ${PASSWORD_LENGTH.min} to ${PASSWORD_LENGTH.max} characters.`);
  }
  if (next !== repeated) throw invalid("repeated", "The new password and its repetition differ.");
  if (next === current) throw invalid("next", "The new password is the one you have.");
  if (next.toLowerCase() === email.toLowerCase()) throw invalid("next", "The new password is your e-mail address.");
}

export function createChangePassword(deps: {
  readonly credentials: Pick<CredentialStore, "findByAccount" | "replacePassword">;
  readonly limits: LoginLimits;
  readonly hashing: BoundedWork;
}): ChangePassword {
  return async (session, change) => {
    checkNew(session, change);
    const wrong = new DomainError("forbidden", "The current password is wrong.", { field: "current" });
    const attempt = { email: session.email, address: change.address };
    await deps.limits.take(attempt);
    const from = (await deps.credentials.findByAccount(session.accountId))?.passwordHash ?? "";
    const stored = from === "" ? NO_PASSWORD_HASH : from;
    if (!(await deps.hashing.run(() => verifyPassword(stored, change.current.slice(0, 1_024))))) throw wrong;
    const to = await deps.hashing.run(() => hashPassword(change.next));
    const isDone = await deps.credentials.replacePassword(session.accountId, { from, to, keptSessionId: session.id });
    if (!isDone) throw wrong;
    await deps.limits.forgive(attempt);
  };
}
