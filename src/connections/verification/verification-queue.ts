/** A due verification of one key version. */
export interface DueVerification {
  readonly accountId: string;
  readonly connectionId: number;
  readonly keyVersion: number;
  /** The number of unanswered attempts. */
  readonly attempt: number;
}

/** Lower numbers run first: new keys, then retries and keys rejected in a call, then rechecks. */
export const VERIFICATION_PRIORITIES = { fresh: 0, retry: 1, recheck: 2 } as const;

export type VerificationPriority = (typeof VERIFICATION_PRIORITIES)[keyof typeof VERIFICATION_PRIORITIES];

/** Lifetime of a claim in seconds. The replica must renew it before. */
export const CLAIM_SECONDS = 5;

/** The next verification of each key, shared by all replicas. */
export interface VerificationQueue {
  /**
   * Claims at most `limit` due verifications, a few per account and none of `busy` accounts. Other replicas cannot
   * claim them until the claim expires.
   */
  claim(priority: VerificationPriority, limit: number, busy: readonly string[]): Promise<readonly DueVerification[]>;
  /** Adds pending keys that the queue lacks: replicas of an earlier version store keys without it during an upgrade. */
  addMissing(): Promise<void>;
  /** Extends claims by `CLAIM_SECONDS`. */
  renew(claimed: readonly DueVerification[]): Promise<void>;
  /** Releases a claim with a result; the key is due again in about a day. */
  complete(verification: DueVerification): Promise<void>;
  /** Releases a claim without a result; the key is due again after `afterSeconds`. */
  postpone(verification: DueVerification, afterSeconds: number, attempt: number): Promise<void>;
}
