/** The ways in which a call can end. */
export const CALL_OUTCOMES = ["ok", "tool_error", "upstream_error", "refused", "cancelled"] as const;

/**
 * How a call ended: the tool's answer, its answer with `isError`, no use of the upstream (it did not answer, failed or refused
 * the key), refused before anything was sent, or given up by the caller.
 */
export type CallOutcome = (typeof CALL_OUTCOMES)[number];

/** One call in the history of a connection. Never its arguments, never its result. */
export interface CallRecord {
  readonly accountId: string;
  readonly connectionId: number;
  /** As the upstream calls it. */
  readonly toolName: string;
  readonly clientId: string;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly outcome: CallOutcome;
  /** Size of the arguments as JSON, approximately. */
  readonly requestBytes: number;
  /** Size of the result as JSON, approximately. */
  readonly responseBytes: number;
}

/** A record at rest, with the number it was given. */
export interface StoredCall extends CallRecord {
  /** Unique within the account; of two records of the same moment the later has the higher one. */
  readonly id: number;
  /** Whether its arguments and result can be read. */
  readonly areContentsKept: boolean;
}

/** When a connection was last used, and how that went since some time. */
export interface ConnectionUsage {
  readonly connectionId: number;
  /** When its latest call began, however long ago; undefined when the history knows of none. */
  readonly lastCalledAt: Date | undefined;
  readonly calls: number;
  /** How many of them ended `tool_error` or `upstream_error`. */
  readonly errors: number;
}

/** Which records are meant. What is undefined narrows nothing. */
export interface CallFilter {
  readonly connectionId: number | undefined;
  /** Those that a grant chose. */
  readonly connectionIds: ReadonlySet<number> | undefined;
  readonly toolName: string | undefined;
  readonly outcome: CallOutcome | undefined;
  /** The first moment that counts. */
  readonly from: Date | undefined;
  /** The first moment that counts no more. */
  readonly to: Date | undefined;
}

/** Where in the history a page ended. */
export interface CallPosition {
  readonly startedAt: Date;
  readonly id: number;
}

/** By what usage can be grouped. */
export const USAGE_KEYS = ["connection", "tool", "day"] as const;

/** One of them. */
export type UsageKey = (typeof USAGE_KEYS)[number];

/** How much one group was used; of the keys those are there that were grouped by. */
export interface UsageGroup {
  readonly connectionId: number | undefined;
  readonly toolName: string | undefined;
  /** `YYYY-MM-DD` in UTC. */
  readonly day: string | undefined;
  readonly calls: number;
  /** How many ended so; together they are `calls`. */
  readonly outcomes: Readonly<Record<CallOutcome, number>>;
  /** Of the calls that were sent; undefined when none was. */
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number } | undefined;
}

/** The history at rest. Throws DomainError `unavailable` when the database cannot be reached. */
export interface CallRecordStore {
  /** Writes all records whose connection still exists: the history of a deleted one must not come back. */
  append(records: readonly CallRecord[]): Promise<void>;
}

/** The history to read: of connections that exist alone. Throws DomainError `unavailable` when the database cannot be reached. */
export interface CallRecordReader {
  /** Records before a position, or the newest, newest first. */
  page(accountId: string, filter: CallFilter, before: CallPosition | undefined, limit: number): Promise<StoredCall[]>;
  /** The groups with the most calls, by day, connection and tool, and how many there are in all. */
  usage(
    accountId: string,
    filter: CallFilter,
    keys: readonly UsageKey[],
    limit: number,
  ): Promise<{ groups: UsageGroup[]; groupCount: number }>;
  /** Of all the account's connections, or the named ones, oldest first, used or not; calls and errors since a time. */
  usageOfConnections(
    accountId: string,
    connectionIds: Iterable<number> | undefined,
    since: Date,
  ): Promise<ConnectionUsage[]>;
}
