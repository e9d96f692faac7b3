import type { Micros } from "../token-id.ts";

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

/** Who has shown who they are, and with what. */
export interface Authenticated {
  readonly accountId: string;
  /** The hash that the password matched: a session begins only while it still is the account's. */
  readonly passwordHash?: string;
}

/** Where login sessions are kept. A session is found by the hash of its cookie; the cookie is in no other place. */
export interface LoginSessionStore {
  /** Begins a session; undefined when the account is disabled, gone, or has another password by now. Beyond `limit` the longest idle of the account end. */
  insert(
    session: Authenticated & {
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
  /**
   * The moment at which an access token of the session counts as issued: after every revocation that this reading has
   * seen. Undefined when the session has ended.
   */
  issueTimestamp(accountId: string, id: string): Promise<Micros | undefined>;
  /** Ends the session and revokes its access tokens, in one transaction. False when there was none. */
  end(accountId: string, id: string): Promise<boolean>;
  /** Ends all sessions of the account but one, likewise. */
  endOthers(accountId: string, keptId: string | undefined): Promise<void>;
}
