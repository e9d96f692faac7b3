export const CALL_OUTCOMES = ["ok", "tool_error", "upstream_error", "refused", "cancelled"] as const;

/**
 * `upstream_error`: the upstream did not respond, failed or rejected the key. `refused`: nothing was sent. `cancelled`:
 * the caller canceled the call.
 */
export type CallOutcome = (typeof CALL_OUTCOMES)[number];

/** One call in the history of a connection, without arguments and result. */
export interface CallRecord {
  readonly accountId: string;
  readonly connectionId: number;
  /** The name at the upstream. */
  readonly toolName: string;
  readonly clientId: string;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly outcome: CallOutcome;
  /** Approximate size of the arguments as JSON. */
  readonly requestBytes: number;
  /** Approximate size of the result as JSON. */
  readonly responseBytes: number;
}

export interface StoredCall extends CallRecord {
  /** Unique within the account, and ascending among calls with the same start time. */
  readonly id: number;
  /** Whether the arguments and the result can be read. */
  readonly areContentsKept: boolean;
}

/** Calls and errors are counted from a given time on. */
export interface ConnectionUsage {
  readonly connectionId: number;
  /** Start of the latest call, whenever it was; undefined if the history has no calls. */
  readonly lastCalledAt: Date | undefined;
  readonly calls: number;
  /** Number of calls with the outcome `tool_error` or `upstream_error`. */
  readonly errors: number;
}

/** Selects records; undefined fields do not filter. */
export interface CallFilter {
  readonly connectionId: number | undefined;
  /** The connections of a grant. */
  readonly connectionIds: ReadonlySet<number> | undefined;
  readonly toolName: string | undefined;
  readonly outcome: CallOutcome | undefined;
  /** Inclusive. */
  readonly from: Date | undefined;
  /** Exclusive. */
  readonly to: Date | undefined;
}

/** The last record of a page. */
export interface CallPosition {
  readonly startedAt: Date;
  readonly id: number;
}

/** The keys that usage can be grouped by. */
export const USAGE_KEYS = ["connection", "tool", "day"] as const;

export type UsageKey = (typeof USAGE_KEYS)[number];

/** The usage of one group. A key that the usage is not grouped by is undefined. */
export interface UsageGroup {
  readonly connectionId: number | undefined;
  readonly toolName: string | undefined;
  /** `YYYY-MM-DD` in UTC. */
  readonly day: string | undefined;
  readonly calls: number;
  /** Number of calls by outcome; their sum is `calls`. */
  readonly outcomes: Readonly<Record<CallOutcome, number>>;
  /** Latency of the calls that were sent; undefined without such calls. */
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number } | undefined;
}

/** Stores the call history. Throws DomainError `unavailable` when the database cannot be reached. */
export interface CallRecordStore {
  /** Writes all records whose connection exists, so that the history of a deleted connection stays deleted. */
  append(records: readonly CallRecord[]): Promise<void>;
}

/** Reads the history of existing connections. Throws DomainError `unavailable` when the database cannot be reached. */
export interface CallRecordReader {
  /** Returns the records before a position, or the newest records; newest first. */
  page(accountId: string, filter: CallFilter, before: CallPosition | undefined, limit: number): Promise<StoredCall[]>;
  /** Returns the groups with the most calls, sorted by day, connection and tool, and the number of all groups. */
  usage(
    accountId: string,
    filter: CallFilter,
    keys: readonly UsageKey[],
    limit: number,
  ): Promise<{ groups: UsageGroup[]; groupCount: number }>;
  /** Returns the usage of all or the given connections, oldest connection first, including unused ones. */
  usageOfConnections(
    accountId: string,
    connectionIds: Iterable<number> | undefined,
    since: Date,
  ): Promise<ConnectionUsage[]>;
}
