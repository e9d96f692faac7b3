/**
 * A change of a connection, seen on every replica. `tools` means that its upstream's list changed, `pins` that other
 * definitions of its tools are in force, without anything else to show.
 */
export interface ConnectionEvent {
  readonly accountId: string;
  readonly connectionId: number;
  readonly event: "created" | "updated" | "deleted" | "tools" | "pins";
}

/** Changes of connections from every replica, in the order of their commits. */
export interface ChangeFeed {
  /** Calls back on every change; answers how to stop. */
  onChange(callback: (event: ConnectionEvent) => void): () => void;
  /** Calls back whenever changes may have been missed; answers how to stop. */
  onGap(callback: () => void): () => void;
  /** Whether a change made elsewhere would have been heard within the last second. */
  isHealthy(): boolean;
}
