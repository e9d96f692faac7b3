import { DomainError } from "../../domain-error.ts";
import { NO_PASSWORD_HASH, verifyPassword } from "../accounts/password.ts";
import type { BoundedWork } from "./bounded-work.ts";
import type { CredentialStore } from "./credentials.ts";
import type { LoginLimits, LoginTry } from "./login-limits.ts";
import type { Authenticated } from "./login-session.ts";

export interface PasswordLogin extends LoginTry {
  readonly password: string;
}

/**
 * Checks an e-mail address and a password. Returns the account and the matching hash, or, for the audit log only, the
 * account that was meant. Responses must not distinguish an unknown address, a wrong password, a disabled account and
 * one without a password; each costs the same work. Throws `exhausted` after too many attempts.
 */
export type LogIn = (login: PasswordLogin) => Promise<Authenticated | { readonly refused: string | undefined }>;

/** Longer texts are never valid, so they are not hashed. */
const MAX_LENGTH = 1_024;

export function createLogIn(deps: {
  readonly credentials: Pick<CredentialStore, "findByEmail">;
  readonly limits: LoginLimits;
  readonly hashing: BoundedWork;
}): LogIn {
  return async (login) => {
    const { email, password } = login;
    if (email === "" || password === "") {
      throw new DomainError("invalid", "Enter your e-mail address and your password.");
    }
    await deps.limits.take(login);
    // PostgreSQL text cannot contain NUL.
    const isPossible = email.length <= MAX_LENGTH && password.length <= MAX_LENGTH && !email.includes("\0");
    const found = isPossible ? await deps.credentials.findByEmail(email) : undefined;
    const stored = found === undefined || found.passwordHash === "" ? NO_PASSWORD_HASH : found.passwordHash;
    const isRight = await deps.hashing.run(() => verifyPassword(stored, isPossible ? password : ""));
    if (found === undefined || !isRight || found.isDisabled) {
      return { refused: found?.accountId };
    }
    await deps.limits.forgive(login);
    return { accountId: found.accountId, passwordHash: found.passwordHash };
  };
}
