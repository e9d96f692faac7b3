import type { Actor } from "../identity/actor.ts";
import type { DeliveryStatus, Webhook, WebhookDelivery } from "./webhook.ts";
import type { WebhookEventType } from "./webhook-event.ts";

/** A checked webhook before it is stored. */
export interface NewWebhook {
  readonly accountId: string;
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly eventTypes: readonly WebhookEventType[];
  /** Encrypted by the store. */
  readonly secret: string;
}

/** Undefined fields keep their values. */
export interface WebhookUpdate {
  readonly name: string | undefined;
  readonly url: string | undefined;
  readonly eventTypes: readonly WebhookEventType[] | undefined;
  readonly enabled: boolean | undefined;
}

/** Undefined fields match all deliveries. */
export interface DeliveryFilter {
  readonly webhookId: string | undefined;
  readonly status: DeliveryStatus | undefined;
}

/**
 * Stores webhooks. Every query includes the account, and every change writes its audit event in the same transaction.
 * Methods return undefined or false for a webhook or delivery that is missing or belongs to another account.
 */
export interface WebhookStore {
  /** Throws `exhausted` if the account has `limit` webhooks. */
  insert(webhook: NewWebhook, limit: number, actor: Actor): Promise<Webhook>;
  find(accountId: string, id: string): Promise<Webhook | undefined>;
  /** Oldest first. */
  list(
    accountId: string,
    limit: number,
    offset: number,
  ): Promise<{ readonly webhooks: readonly Webhook[]; readonly totalCount: number }>;
  /** Disabling gives up the waiting deliveries. Any update of an enabled webhook ends the pause after failures. */
  update(accountId: string, id: string, change: WebhookUpdate, actor: Actor): Promise<Webhook | undefined>;
  /** Signs with `secret` from now on, and for `graceSeconds` also with the secret that it replaces. */
  rotateSecret(
    accountId: string,
    id: string,
    secret: string,
    graceSeconds: number,
    actor: Actor,
  ): Promise<Webhook | undefined>;
  /** Deletes its deliveries as well. */
  delete(accountId: string, id: string, actor: Actor): Promise<boolean>;
}

/** Stores deliveries, under the same rules. */
export interface DeliveryStore {
  find(accountId: string, id: string): Promise<WebhookDelivery | undefined>;
  /** Newest first. */
  list(
    accountId: string,
    filter: DeliveryFilter,
    limit: number,
    offset: number,
  ): Promise<{ readonly deliveries: readonly WebhookDelivery[]; readonly totalCount: number }>;
  /** Makes the delivery due now, for another three days. Throws `conflict` if its webhook is disabled. */
  resend(accountId: string, id: string, actor: Actor): Promise<WebhookDelivery | undefined>;
}
