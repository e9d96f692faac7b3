import type { LogLevel } from "../../integrations/relay.ts";
import type { Session } from "./session.ts";

/** A session about to be stored. It remembers nothing yet. */
export type NewSession = Pick<
  Session,
  "accountId" | "id" | "clientId" | "connectionId" | "grantId" | "protocolVersion" | "clientInfo"
>;

/** A session as it is at rest. */
export interface StoredSession {
  readonly session: Session;
  /** How long ago its last use was written, in milliseconds. */
  readonly idleMs: number;
}

/** What a session must remember before the answer or the call goes out. */
export interface SessionClaim {
  /** Connection ids by tool id. A name that has an owner keeps it. */
  readonly bareNameOwners: ReadonlyMap<number, number>;
  /** A connection that is about to be called. */
  readonly calledConnectionId: number | undefined;
}

/** What a client asks its session to remember; absent parts stay. */
export interface SessionChange {
  readonly logLevel?: LogLevel;
  readonly subscribe?: string;
  readonly unsubscribe?: string;
}

/**
 * Sessions at rest, for every replica. The owner is part of every question.
 * Every method throws DomainError `unavailable` when the database cannot be reached.
 */
export interface SessionStore {
  /**
   * Stores a new session. When the account has `limit` sessions that were used within the last `idleSeconds`, the longest idle
   * session of the same client ends; `full` when all of them belong to other clients. Undefined when the account is gone or disabled.
   */
  open(session: NewSession, limit: number, idleSeconds: number): Promise<Session | "full" | undefined>;
  /** A session in use within the last `idleSeconds`. With `known` at hand and unchanged, that very object is answered. */
  find(
    accountId: string,
    id: string,
    idleSeconds: number,
    known: Session | undefined,
  ): Promise<StoredSession | undefined>;
  /** Notes that the session is in use. */
  touch(accountId: string, id: string): Promise<void>;
  /**
   * Adds to what a session remembers; the first to claim a name wins, whichever replica it asks.
   * Undefined when the session has ended or the connection to be called is gone.
   */
  claim(accountId: string, id: string, claim: SessionClaim): Promise<Session | undefined>;
  /** Keeps what the client asked for. Undefined when the session has ended. */
  update(accountId: string, id: string, change: SessionChange): Promise<Session | undefined>;
  /** Those of many sessions that have not ended, by id. One that is unchanged is answered as the very object. */
  findAll(sessions: readonly Session[]): Promise<ReadonlyMap<string, Session>>;
  /** Ends a session. False when there was none. */
  end(accountId: string, id: string): Promise<boolean>;
  /** Ends up to `limit` sessions of any account that nobody used for `idleSeconds`; answers how many. */
  endIdle(idleSeconds: number, limit: number): Promise<number>;
}
