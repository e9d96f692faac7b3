import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type Webhook as WireWebhook,
  type WebhookDelivery as WireWebhookDelivery,
  WebhookDeliverySchema,
  WebhookSchema,
} from "../../../../gen/proto/patchbay/v1/webhook_pb.ts";
import type { Webhook, WebhookDelivery } from "../../../webhooks/webhook.ts";

/** Never contains the secret, nor the payload of a delivery. */
export function toWireWebhook(webhook: Webhook): WireWebhook {
  const { disabledReason, failingSince, secretRotatedAt, previousSecretUntil } = webhook;
  return create(WebhookSchema, {
    id: webhook.id,
    name: webhook.name,
    url: webhook.url,
    eventTypes: [...webhook.eventTypes],
    enabled: webhook.enabled,
    ...(disabledReason === undefined ? {} : { disabledReason }),
    ...(failingSince === undefined ? {} : { failingSince: timestampFromDate(failingSince) }),
    createdAt: timestampFromDate(webhook.createdAt),
    ...(secretRotatedAt === undefined ? {} : { secretRotatedAt: timestampFromDate(secretRotatedAt) }),
    ...(previousSecretUntil === undefined ? {} : { previousSecretExpiresAt: timestampFromDate(previousSecretUntil) }),
  });
}

export function toWireWebhookDelivery(delivery: WebhookDelivery): WireWebhookDelivery {
  const { lastAttemptAt, nextAttemptAt, deliveredAt, responseStatus, error } = delivery;
  return create(WebhookDeliverySchema, {
    id: delivery.id,
    webhookId: delivery.webhookId,
    eventType: delivery.eventType,
    status: delivery.status,
    attempts: delivery.attempts,
    createdAt: timestampFromDate(delivery.createdAt),
    ...(lastAttemptAt === undefined ? {} : { lastAttemptAt: timestampFromDate(lastAttemptAt) }),
    ...(nextAttemptAt === undefined ? {} : { nextAttemptAt: timestampFromDate(nextAttemptAt) }),
    ...(deliveredAt === undefined ? {} : { deliveredAt: timestampFromDate(deliveredAt) }),
    ...(responseStatus === undefined ? {} : { responseStatus }),
    ...(error === undefined ? {} : { error }),
  });
}
