import type { McpLogLevel } from "../../integrations/relay.ts";
import type { McpSession } from "./session.ts";

export type NewSession = Pick<
  McpSession,
  | "accountId"
  | "id"
  | "memberId"
  | "clientId"
  | "connectionId"
  | "grantId"
  | "protocolVersion"
  | "clientInfo"
  | "clientCapabilities"
>;

export interface StoredSession {
  readonly session: McpSession;
  /** Time since the last stored use, in milliseconds. */
  readonly idleMs: number;
}

/** What must be stored before a list is returned or a call is sent. */
export interface SessionClaim {
  /** Connection ids by tool id. A name that already has a connection keeps it. */
  readonly bareNameOwners: ReadonlyMap<number, number>;
  /** Connection ids by alias. An alias that already has a connection keeps it. */
  readonly aliasOwners: ReadonlyMap<string, number>;
  /** The connection that is about to be called. */
  readonly calledConnectionId: number | undefined;
}

/** The settings of a client for its session; undefined ones stay unchanged. */
export interface SessionChange {
  /** From the client's `initialize`, if the session was opened before it. */
  readonly introduction?: Pick<McpSession, "protocolVersion" | "clientInfo" | "clientCapabilities">;
  readonly logLevel?: McpLogLevel;
  readonly subscribe?: string;
  readonly unsubscribe?: string;
}

/**
 * Sessions shared by all replicas. Every method throws DomainError `unavailable` when the database cannot be reached.
 */
export interface SessionStore {
  /**
   * Stores a session. When the account has `limit` sessions used within the last `idleSeconds`, the longest idle
   * session of the same client ends; returns `full` when all belong to other clients. Returns undefined when the
   * account is deleted or disabled.
   */
  open(session: NewSession, limit: number, idleSeconds: number): Promise<McpSession | "full" | undefined>;
  /** Finds a session used within the last `idleSeconds`. Returns `known` itself if it is unchanged. */
  find(
    accountId: string,
    id: string,
    idleSeconds: number,
    known: McpSession | undefined,
  ): Promise<StoredSession | undefined>;
  /** Stores that the session is in use now. */
  touch(accountId: string, id: string): Promise<void>;
  /**
   * Stores a claim. The first claim of a name wins, across replicas. Returns undefined when the session has ended or
   * the connection was deleted.
   */
  claim(accountId: string, id: string, claim: SessionClaim): Promise<McpSession | undefined>;
  /** Stores settings of the client. Returns undefined when the session has ended. */
  update(accountId: string, id: string, change: SessionChange): Promise<McpSession | undefined>;
  /** Returns those sessions that have not ended, by id. An unchanged session is returned as the same object. */
  findAll(sessions: readonly McpSession[]): Promise<ReadonlyMap<string, McpSession>>;
  /** Ends a session. Returns false when there was none. */
  end(accountId: string, id: string): Promise<boolean>;
  /** Ends up to `limit` sessions of all accounts that were unused for `idleSeconds`. Returns how many. */
  endIdle(idleSeconds: number, limit: number): Promise<number>;
}
