/** A verification that is due: of one version of a connection's key. */
export interface DueVerification {
  readonly accountId: string;
  readonly connectionId: number;
  readonly keyVersion: number;
  /** How often the upstream gave no answer so far. */
  readonly attempt: number;
}

/** Lower numbers go first: keys never tried, then keys that wait for an answer or were refused in a call, then rechecks. */
export const VERIFICATION_PRIORITIES = { fresh: 0, retry: 1, recheck: 2 } as const;

/** The priority of a verification. */
export type VerificationPriority = (typeof VERIFICATION_PRIORITIES)[keyof typeof VERIFICATION_PRIORITIES];

/** Seconds for which a claimed verification belongs to its replica; it must renew the claim before they are over. */
export const CLAIM_SECONDS = 5;

/** When each key is verified next, shared by all replicas. */
export interface VerificationQueue {
  /**
   * Takes at most `limit` verifications that are due, a few for each account, none of the accounts that are `busy`.
   * No other replica gets them until the claim runs out.
   */
  claim(priority: VerificationPriority, limit: number, busy: readonly string[]): Promise<readonly DueVerification[]>;
  /** Adds pending keys that the queue lacks: replicas of an earlier version store keys without it during an upgrade. */
  addMissing(): Promise<void>;
  /** Keeps claimed verifications for another `CLAIM_SECONDS`. */
  renew(claimed: readonly DueVerification[]): Promise<void>;
  /** Ends a claim after a result: the key is due again in about a day. */
  complete(verification: DueVerification): Promise<void>;
  /** Ends a claim without a result: the key is due again after so many seconds. */
  postpone(verification: DueVerification, afterSeconds: number, attempt: number): Promise<void>;
}
