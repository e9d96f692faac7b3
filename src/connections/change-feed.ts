/**
 * A change of a connection, sent to every replica. `tools` means that the upstream's tool list changed, `pins` that
 * the accepted definitions changed without a visible effect.
 */
export interface ConnectionEvent {
  readonly accountId: string;
  readonly connectionId: number;
  readonly event: "created" | "updated" | "deleted" | "tools" | "pins";
}

/** Changes of all replicas in commit order. */
export interface ChangeFeed {
  /** Returns a function that unsubscribes. */
  onChange(callback: (event: ConnectionEvent) => void): () => void;
  /** Calls back when changes may have been missed. Returns a function that unsubscribes. */
  onGap(callback: () => void): () => void;
  /** Whether changes on other replicas arrive within a second. */
  isHealthy(): boolean;
}
