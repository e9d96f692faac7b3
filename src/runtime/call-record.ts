/**
 * How a call ended: the tool's answer, its answer with `isError`, no answer from the upstream, refused before anything was
 * sent, or given up by the caller.
 */
export type CallOutcome = "ok" | "tool_error" | "upstream_error" | "refused" | "cancelled";

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

/** The history at rest. Throws DomainError `unavailable` when the database cannot be reached. */
export interface CallRecordStore {
  /** Writes all records whose connection still exists: the history of a deleted one must not come back. */
  append(records: readonly CallRecord[]): Promise<void>;
}
