/** A person who is logged in, in one browser. */
export interface LoginSession {
  readonly accountId: string;
  /** `session_<random>`: names the session and opens nothing; the `client_id` of the access tokens made for it. */
  readonly id: string;
  readonly email: string;
  readonly isAdmin: boolean;
  /** When the password was entered, or the external provider's answer came. */
  readonly authenticatedAt: Date;
  /** When the session ends, however much it is used. */
  readonly expiresAt: Date;
}

/** Where login sessions are kept. A session is found by the hash of its cookie; the cookie is in no other place. */
export interface LoginSessionStore {
  /** Begins a session; undefined when the account is disabled or gone. Beyond `limit` the longest idle of the account end. */
  insert(
    session: {
      readonly accountId: string;
      readonly id: string;
      readonly secretHash: Uint8Array;
      readonly lifetimeSeconds: number;
    },
    limit: number,
  ): Promise<LoginSession | undefined>;
  /** The session, unless it has ended, has been idle for too long, or its account is disabled. */
  find(
    accountId: string,
    secretHash: Uint8Array,
    idleSeconds: number,
  ): Promise<{ readonly session: LoginSession; readonly idleMs: number } | undefined>;
  /** Notes that the session is in use. */
  touch(accountId: string, id: string): Promise<void>;
  /** Ends the session and revokes its access tokens, in one transaction. False when there was none. */
  end(accountId: string, id: string): Promise<boolean>;
  /** Ends all sessions of the account but one, likewise. */
  endOthers(accountId: string, keptId: string | undefined): Promise<void>;
}
