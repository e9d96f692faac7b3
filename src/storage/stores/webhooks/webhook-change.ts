import type { EntityManager } from "@mikro-orm/postgresql";
import type { Actor } from "../../../identity/actor.ts";
import type { AuditAction } from "../../../identity/audit/audit-event.ts";
import type { WebhookFeed } from "../../../webhooks/quiet-accounts.ts";
import { WebhookEntity } from "../../entities/webhooks/webhook.ts";
import { WebhookDeliveryEntity } from "../../entities/webhooks/webhook-delivery.ts";
import { notify } from "../../orm.ts";
import { createNotificationFeed, type EventListener } from "../connections/connection-event.ts";
import { type ChangeEvent, recordEvent } from "../identity/audit-event.ts";
import type { WebhookRow } from "./webhook-row.ts";

/** The channel that announces every change of webhooks with its account, on commit. */
const WEBHOOK_CHANNEL = "patchbay_webhook";

/** The feed of accounts whose webhooks changed. */
export function createWebhookFeed(listener: EventListener): Promise<WebhookFeed> {
  return createNotificationFeed(listener, WEBHOOK_CHANNEL, (accountId) => accountId);
}

/** Tells all replicas on commit that webhooks of the account changed. */
export async function announceWebhookChange(em: EntityManager, accountId: string): Promise<void> {
  await notify(em, WEBHOOK_CHANNEL, accountId);
}

/** An audit event of a webhook. */
export function webhookAuditEvent(
  { accountId, id, name, url }: Pick<WebhookRow, "accountId" | "id" | "name" | "url">,
  action: AuditAction,
  actor: Actor,
): ChangeEvent {
  return {
    accountId,
    action,
    actor,
    objectType: "webhook",
    objectId: id,
    objectName: name === "" ? hostOf(url) : name,
  };
}

/** Only the host, because the path of a receiver's address may be a secret. */
function hostOf(url: string): string {
  return URL.parse(url)?.host ?? "";
}

/** Disables a webhook that the transaction has locked, and gives up its waiting deliveries. */
export async function disableWebhook(
  em: EntityManager,
  row: Pick<WebhookRow, "accountId" | "id" | "name" | "url">,
  reason: string | undefined,
  actor: Actor,
): Promise<void> {
  const { accountId, id } = row;
  const change = { enabled: false, disabledReason: reason ?? null, dueAt: null, pausedUntil: null };
  await em.nativeUpdate(WebhookEntity, { accountId, id }, change);
  await em.nativeUpdate(
    WebhookDeliveryEntity,
    { accountId, webhookId: id, status: "pending" },
    { status: "failed", error: reason ?? "The webhook was disabled." },
  );
  recordEvent(em, webhookAuditEvent(row, "webhook.disable", actor));
  await announceWebhookChange(em, accountId);
}
