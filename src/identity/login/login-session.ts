import type { Micros } from "../token-id.ts";

/** A login in one browser. */
export interface LoginSession {
  readonly accountId: string;
  /** `session_<random>`, not a secret; the `client_id` of the session's access tokens. */
  readonly id: string;
  readonly email: string;
  readonly isAdmin: boolean;
  /** When the password or the external login was verified. */
  readonly authenticatedAt: Date;
  /** The absolute end of the session. */
  readonly expiresAt: Date;
}

export interface Authenticated {
  readonly accountId: string;
  /** The hash that the password matched. A session starts only if the account still has it. */
  readonly passwordHash?: string;
}

/** Stores login sessions by the hash of their cookie. */
export interface LoginSessionStore {
  /**
   * Starts a session and ends the longest idle ones above `limit`. Returns undefined if the account is disabled,
   * deleted or has another password.
   */
  insert(
    session: Authenticated & {
      readonly id: string;
      readonly secretHash: Uint8Array;
      readonly lifetimeSeconds: number;
    },
    limit: number,
  ): Promise<LoginSession | undefined>;
  /** Returns undefined if the session ended, is idle for too long, or its account is disabled. */
  find(
    accountId: string,
    secretHash: Uint8Array,
    idleSeconds: number,
  ): Promise<{ readonly session: LoginSession; readonly idleMs: number } | undefined>;
  /** Records a use of the session. */
  touch(accountId: string, id: string): Promise<void>;
  /**
   * Returns the issue instant of a new access token: later than every revocation that this query has seen. Undefined
   * if the session ended.
   */
  issueTimestamp(accountId: string, id: string): Promise<Micros | undefined>;
  /** Ends the session and revokes its access tokens in one transaction. Returns false if there was none. */
  end(accountId: string, id: string): Promise<boolean>;
  /** Ends all other sessions of the account in the same way. */
  endOthers(accountId: string, keptId: string | undefined): Promise<void>;
}
