import type { WebhookEventType } from "./webhook-event.ts";

/** The maximum number of webhooks per account (DESIGN §8). */
export const MAX_WEBHOOKS = 20;

/** A webhook with this many waiting deliveries is disabled, because its receiver does not keep up. */
export const MAX_WAITING_DELIVERIES = 5_000;

/** Days for which a delivery is tried. */
export const DELIVERY_DAYS = 3;

/** An address of the account that receives events. */
export interface Webhook {
  readonly accountId: string;
  readonly id: string;
  /** Possibly empty. */
  readonly name: string;
  readonly url: string;
  readonly eventTypes: readonly WebhookEventType[];
  readonly enabled: boolean;
  /** Why the service disabled it, as a public message. Undefined if the account did. */
  readonly disabledReason: string | undefined;
  /** When the first of the current series of failed attempts was made. Undefined after a successful attempt. */
  readonly failingSince: Date | undefined;
  readonly createdAt: Date;
  readonly secretRotatedAt: Date | undefined;
  /** Until when deliveries are also signed with the previous secret. */
  readonly previousSecretUntil: Date | undefined;
}

export const DELIVERY_STATUSES = ["pending", "delivered", "failed"] as const;

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** An event on its way to one webhook. */
export interface WebhookDelivery {
  readonly accountId: string;
  /** Sent as the header `webhook-id`; equal in every attempt. */
  readonly id: string;
  readonly webhookId: string;
  readonly eventType: WebhookEventType;
  /** The request body, as it is signed. */
  readonly payload: string;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly createdAt: Date;
  readonly lastAttemptAt: Date | undefined;
  /** Undefined unless the delivery is pending. */
  readonly nextAttemptAt: Date | undefined;
  /** The HTTP status of the last response. */
  readonly responseStatus: number | undefined;
  /** Why the last attempt failed, as a public message. */
  readonly error: string | undefined;
  readonly deliveredAt: Date | undefined;
}
