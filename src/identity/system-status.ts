/** How much work waits in a queue. */
export interface QueueStatus {
  readonly name: string;
  /** Jobs that wait or are tried again later. */
  readonly waiting: number;
  readonly active: number;
  /** Jobs that were given up and are still kept. */
  readonly failed: number;
}

/** How the installation stands, as its database tells. */
export interface InstallationStatus {
  readonly migrations: readonly string[];
  readonly accounts: number;
  readonly disabledAccounts: number;
  readonly connections: number;
  readonly verifiedConnections: number;
  readonly failedConnections: number;
  readonly mcpSessions: number;
  /** By name; those without a job are left out. */
  readonly queues: readonly QueueStatus[];
}

/** The same with what the answering replica knows of itself. */
export interface SystemStatus extends InstallationStatus {
  readonly version: string;
  /** Whether notifications from the database reach this replica. */
  readonly isListenerHealthy: boolean;
}

/** Reads how the installation stands. Counts whole tables: for people, now and then. */
export type ReadSystemStatus = () => Promise<SystemStatus>;
