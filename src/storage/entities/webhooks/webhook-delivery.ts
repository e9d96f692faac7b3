import { defineEntity, p } from "@mikro-orm/core";
import type { WebhookEventType } from "../../../webhooks/webhook-event.ts";
import { indexAs } from "../index-as.ts";
import { WebhookEntity } from "./webhook.ts";

/** An event on its way to one webhook. */
export const WebhookDeliveryEntity = defineEntity({
  name: "WebhookDelivery",
  properties: {
    accountId: p.text().primary(),
    id: p.text().primary(),
    webhookId: p.text(),
    webhook: () =>
      p
        .manyToOne(WebhookEntity)
        .mapToPk()
        // Hidden from the types, as in `connectionReference`.
        .$type<never>()
        .nullable()
        .joinColumns("account_id", "webhook_id")
        .ownColumns()
        .foreignKeyName("webhook_delivery_account_id_webhook_id_fkey")
        .updateRule("no action")
        .deleteRule("cascade"),
    sequence: p.bigint("number").autoincrement().generated("identity"),
    eventType: p.text().$type<WebhookEventType>(),
    subject: p.text(),
    payload: p.text(),
    status: p.enum(["pending", "delivered", "failed"]).default("pending"),
    attempts: p.integer().default(0),
    createdAt: p.datetime().defaultRaw("now()"),
    queuedAt: p.datetime().defaultRaw("now()"),
    nextAttemptAt: p.datetime().defaultRaw("now()"),
    lastAttemptAt: p.datetime().nullable(),
    responseStatus: p.integer().nullable(),
    error: p.text().nullable(),
    deliveredAt: p.datetime().nullable(),
  },
  indexes: [
    { name: "webhook_delivery_account", properties: ["accountId", "sequence"] },
    { name: "webhook_delivery_webhook", properties: ["accountId", "webhookId", "sequence"] },
    indexAs(
      `create index webhook_delivery_waiting on webhook_delivery (account_id, webhook_id, sequence) where status = 'pending'`,
    ),
    indexAs(
      `create index webhook_delivery_subject on webhook_delivery (account_id, webhook_id, subject, sequence) where status = 'pending'`,
    ),
    indexAs(
      `create index webhook_delivery_finished on webhook_delivery (account_id, webhook_id, sequence) where status <> 'pending'`,
    ),
    { name: "webhook_delivery_created", properties: ["createdAt"] },
  ],
});
