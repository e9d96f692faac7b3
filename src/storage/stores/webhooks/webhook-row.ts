import type { InferEntity } from "@mikro-orm/core";
import { isJsonObject } from "../../../json.ts";
import type { Webhook, WebhookDelivery } from "../../../webhooks/webhook.ts";
import type { WebhookEntity } from "../../entities/webhooks/webhook.ts";
import type { WebhookDeliveryEntity } from "../../entities/webhooks/webhook-delivery.ts";
import type { SealedPlace, Sealer } from "../../sealing.ts";

export type WebhookRow = InferEntity<typeof WebhookEntity>;

/** The secrets of a webhook before encryption. */
export interface WebhookSecrets {
  readonly secret: string;
  /** Valid until the row's `previous_secret_until`. */
  readonly previous?: string;
}

/** The location to which encryption binds the secrets of a webhook. */
export function webhookPlace(accountId: string, id: string): SealedPlace {
  return { table: "webhook", column: "sealed_secrets", accountId, rowId: id };
}

export function sealWebhookSecrets(sealer: Sealer, accountId: string, id: string, secrets: WebhookSecrets): Buffer {
  return sealer.seal(JSON.stringify(secrets), webhookPlace(accountId, id));
}

/** Returns the current secret and the previous one. Throws SealError. */
export function openWebhookSecrets(sealer: Sealer, accountId: string, id: string, sealed: Uint8Array): WebhookSecrets {
  const opened: unknown = JSON.parse(sealer.open(sealed, webhookPlace(accountId, id)));
  if (!isJsonObject(opened) || typeof opened["secret"] !== "string")
    throw new TypeError("the secrets of a webhook lack the current one");
  const { secret, previous } = opened;
  return { secret, ...(typeof previous === "string" && { previous }) };
}

export function toWebhook(row: WebhookRow): Webhook {
  const { previousSecretUntil } = row;
  return {
    accountId: row.accountId,
    id: row.id,
    name: row.name,
    url: row.url,
    eventTypes: row.eventTypes,
    enabled: row.enabled,
    disabledReason: row.disabledReason ?? undefined,
    failingSince: row.failingSince ?? undefined,
    createdAt: row.createdAt,
    secretRotatedAt: row.secretRotatedAt ?? undefined,
    previousSecretUntil: previousSecretUntil && previousSecretUntil > new Date() ? previousSecretUntil : undefined,
  };
}

export function toWebhookDelivery(row: InferEntity<typeof WebhookDeliveryEntity>): WebhookDelivery {
  return {
    accountId: row.accountId,
    id: row.id,
    webhookId: row.webhookId,
    eventType: row.eventType,
    payload: row.payload,
    status: row.status,
    attempts: row.attempts,
    createdAt: row.createdAt,
    lastAttemptAt: row.lastAttemptAt ?? undefined,
    nextAttemptAt: row.status === "pending" ? row.nextAttemptAt : undefined,
    responseStatus: row.responseStatus ?? undefined,
    error: row.error ?? undefined,
    deliveredAt: row.deliveredAt ?? undefined,
  };
}
