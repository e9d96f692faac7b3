export interface QueueStatus {
  readonly name: string;
  /** Jobs that wait for their first run or a retry. */
  readonly waiting: number;
  readonly active: number;
  /** Jobs without further retries that are still stored. */
  readonly failed: number;
}

/** Counts and versions that the database knows. */
export interface InstallationStatus {
  readonly migrations: readonly string[];
  readonly accounts: number;
  readonly disabledAccounts: number;
  readonly connections: number;
  readonly verifiedConnections: number;
  readonly failedConnections: number;
  readonly mcpSessions: number;
  /** Queues with jobs, by name. */
  readonly queues: readonly QueueStatus[];
}

/** Adds what this replica knows. */
export interface SystemStatus extends InstallationStatus {
  readonly version: string;
  /** Whether this replica receives database notifications. */
  readonly isListenerHealthy: boolean;
}

/** Counts whole tables, so it is meant for rare use by people. */
export type ReadSystemStatus = () => Promise<SystemStatus>;
