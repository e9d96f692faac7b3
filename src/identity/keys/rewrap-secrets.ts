export interface RewrapReport {
  /** The version of the newest master key. */
  readonly masterKeyVersion: number;
  /** Secrets that were rewrapped, by `table.column`; a second run rewraps none. */
  readonly rewrapped: Readonly<Record<string, number>>;
  /** Secrets that could not be decrypted and stay unchanged, by `table.column`. They also count as remaining. */
  readonly failed: Readonly<Record<string, number>>;
  /** Secrets under older keys. At 0 the older master keys can be removed. */
  readonly remaining: number;
}

/**
 * Rewraps every secret with the newest master key in batches while the service runs. It may be stopped and run again.
 */
export type RewrapSecrets = () => Promise<RewrapReport>;
