import { defineEntity, p } from "@mikro-orm/core";
import type { WebhookEventType } from "../../../webhooks/webhook-event.ts";
import { owner } from "../identity/owner.ts";
import { indexAs } from "../index-as.ts";

/** An address that receives an account's events, and the time at which its next delivery is due. */
export const WebhookEntity = defineEntity({
  name: "Webhook",
  properties: {
    accountId: owner("webhook_account_id_fkey"),
    id: p.text().primary(),
    name: p.text().default(""),
    url: p.text(),
    eventTypes: p.array<WebhookEventType>().columnType("text[]"),
    enabled: p.boolean().default(true),
    disabledReason: p.text().nullable(),
    sealedSecrets: p.blob().$type<Buffer>(),
    secretRotatedAt: p.datetime().nullable(),
    previousSecretUntil: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw("now()"),
    failures: p.integer().default(0),
    failingSince: p.datetime().nullable(),
    pausedUntil: p.datetime().nullable(),
    dueAt: p.datetime().nullable(),
    claimedUntil: p.datetime().nullable(),
  },
  indexes: [
    indexAs(`create index webhook_due on webhook (due_at) where due_at is not null`),
    indexAs(`create index webhook_sealed_version on webhook (substring(sealed_secrets from 2 for 4))`),
  ],
});
