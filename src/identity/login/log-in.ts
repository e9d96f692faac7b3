import { DomainError } from "../../domain-error.ts";
import { NO_PASSWORD_HASH, verifyPassword } from "../accounts/password.ts";
import type { BoundedWork } from "./bounded-work.ts";
import type { CredentialStore } from "./credentials.ts";
import type { LoginLimits, LoginTry } from "./login-limits.ts";
import type { Authenticated } from "./login-session.ts";

/** What was typed into the login form. */
export interface PasswordLogin extends LoginTry {
  readonly password: string;
}

/**
 * Judges an e-mail address and a password; gives the account and the hash that was right, or for the record alone the
 * account that was meant. Whoever answers must not tell an unknown address, a wrong password, a disabled account and one
 * without a password apart; each took the same work. Fails with `exhausted` after too many tries.
 */
export type LogIn = (login: PasswordLogin) => Promise<Authenticated | { readonly refused: string | undefined }>;

/** Nothing longer is an address or a password of ours; a longer text is not worth hashing. */
const MAX_LENGTH = 1_024;

/** Logging in with a password. */
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
    // PostgreSQL holds no NUL.
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
