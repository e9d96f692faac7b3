/** What moving the secrets to the newest master key came to. */
export interface RewrapReport {
  /** The version that everything was moved to. */
  readonly masterKeyVersion: number;
  /** Secrets moved, by `table.column`; a second run moves none. */
  readonly rewrapped: Readonly<Record<string, number>>;
  /** Secrets that could not be opened and were left as they are, by `table.column`; they count as remaining too. */
  readonly failed: Readonly<Record<string, number>>;
  /** Secrets that still are under another key. At 0 the older master keys may be taken away. */
  readonly remaining: number;
}

/**
 * Wraps every secret anew with the newest master key, in batches, beside a service at work. It may be stopped at any time
 * and run again. Once nothing is sealed under an older key the installation no longer asks for it.
 */
export type RewrapSecrets = () => Promise<RewrapReport>;
