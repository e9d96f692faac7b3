/** A webhook that has due deliveries. Only the replica that claimed it sends to it. */
export interface DueWebhook {
  readonly accountId: string;
  readonly webhookId: string;
}

/** The next delivery of a claimed webhook. */
export interface DueDelivery extends DueWebhook {
  readonly id: string;
  readonly payload: string;
  readonly url: string;
  /** The current secret, and the previous one while it is valid. They are decrypted; never log or store them. */
  readonly secrets: readonly string[];
  /** The number of attempts before this one. */
  readonly attempts: number;
  /** When the delivery was created or last resent. */
  readonly queuedAt: Date;
  /** The number of failed attempts of the webhook since its last successful one. */
  readonly failures: number;
  readonly failingSince: Date | undefined;
}

/** The response to an attempt, or why there is none. `error` is a public message; undefined means success. */
export interface AttemptResult {
  readonly responseStatus: number | undefined;
  readonly error: string | undefined;
}

/** What follows from an attempt. */
export type Verdict =
  | { readonly kind: "delivered" }
  /** The delivery is tried again after the first pause, any other delivery of the webhook after the second. */
  | { readonly kind: "retry"; readonly afterSeconds: number; readonly pauseSeconds: number }
  /** The delivery is not tried again. */
  | { readonly kind: "give_up"; readonly pauseSeconds: number }
  /** The webhook is disabled with all its deliveries. `reason` is a public message. */
  | { readonly kind: "disable"; readonly reason: string };

/** Lifetime of a claim in seconds. The replica must renew it before. */
export const WEBHOOK_CLAIM_SECONDS = 5;

/** The webhooks with due deliveries, shared by all replicas. */
export interface DeliveryQueue {
  /** Claims at most `limit` due webhooks, a few per account and none of `busy` accounts. */
  claim(limit: number, busy: readonly string[]): Promise<readonly DueWebhook[]>;
  /** Extends claims by `WEBHOOK_CLAIM_SECONDS`. */
  renew(claimed: readonly DueWebhook[]): Promise<void>;
  /** The oldest due delivery that waits for no earlier one with the same subject. Undefined if there is none. */
  next(claimed: DueWebhook): Promise<DueDelivery | undefined>;
  /** Stores the result of an attempt and what follows. */
  record(delivery: DueDelivery, result: AttemptResult, verdict: Verdict): Promise<void>;
  /** Ends a claim; the webhook is due again when its next delivery is. */
  release(claimed: DueWebhook): Promise<void>;
}
