import { type EntityManager, LockMode } from "@mikro-orm/postgresql";
import { DomainError } from "../../../domain-error.ts";
import type { WebhookStore, WebhookUpdate } from "../../../webhooks/webhook-store.ts";
import { WebhookEntity } from "../../entities/webhooks/webhook.ts";
import { inTransaction, now, type Orm, transactionTime, withEntities } from "../../orm.ts";
import type { Sealer } from "../../sealing.ts";
import { lockAccount } from "../identity/account-lock.ts";
import { recordEvent } from "../identity/audit-event.ts";
import { announceWebhookChange, disableWebhook, webhookAuditEvent } from "./webhook-change.ts";
import { openWebhookSecrets, sealWebhookSecrets, toWebhook, type WebhookRow } from "./webhook-row.ts";

/** The names of the fields that an update changes, for the audit log. */
function changedFields(row: WebhookRow, { name, url, eventTypes }: WebhookUpdate): readonly string[] {
  const hasNewTypes = eventTypes !== undefined && JSON.stringify(eventTypes) !== JSON.stringify(row.eventTypes);
  return [
    ...(name === undefined || name === row.name ? [] : ["name"]),
    ...(url === undefined || url === row.url ? [] : ["url"]),
    ...(hasNewTypes ? ["event_types"] : []),
  ];
}

/** Ends the pause after failures, so that waiting deliveries are tried at once. */
export async function endPause(em: EntityManager, accountId: string, id: string): Promise<void> {
  const change = { failures: 0, failingSince: null, pausedUntil: null, dueAt: now() };
  await em.nativeUpdate(WebhookEntity, { accountId, id, enabled: true }, change);
}

/** Webhooks in PostgreSQL. A transaction locks a webhook before its deliveries. */
export function createWebhookStore(orm: Orm, sealer: Sealer): WebhookStore {
  const locked = (em: EntityManager, accountId: string, id: string): Promise<WebhookRow | null> =>
    em.findOne(WebhookEntity, { accountId, id }, { lockMode: LockMode.PESSIMISTIC_WRITE });

  return {
    insert: ({ secret, ...fresh }, limit, actor) =>
      inTransaction(orm, async (em) => {
        const { accountId, id } = fresh;
        await lockAccount(em, accountId);
        if ((await em.count(WebhookEntity, { accountId })) >= limit)
          throw new DomainError("exhausted", `An account can have at most ${limit} webhooks; delete one first.`);
        const sealedSecrets = sealWebhookSecrets(sealer, accountId, id, { secret });
        const createdAt = await transactionTime(em);
        const row = em.create(WebhookEntity, { ...fresh, eventTypes: [...fresh.eventTypes], sealedSecrets, createdAt });
        recordEvent(em, webhookAuditEvent(row, "webhook.create", actor));
        await em.flush();
        await announceWebhookChange(em, accountId);
        return toWebhook(row);
      }),

    async find(accountId, id) {
      const row = await withEntities(orm, (em) => em.findOne(WebhookEntity, { accountId, id }));
      return row === null ? undefined : toWebhook(row);
    },

    async list(accountId, limit, offset) {
      const options = { orderBy: { createdAt: "asc", id: "asc" }, limit, offset } as const;
      const [rows, totalCount] = await withEntities(orm, (em) =>
        em.findAndCount(WebhookEntity, { accountId }, options),
      );
      return { webhooks: rows.map(toWebhook), totalCount };
    },

    update: (accountId, id, change, actor) =>
      inTransaction(orm, async (em) => {
        const row = await locked(em, accountId, id);
        if (row === null) return undefined;
        const changed = changedFields(row, change);
        if (change.name !== undefined) row.name = change.name;
        if (change.url !== undefined) row.url = change.url;
        if (change.eventTypes !== undefined) row.eventTypes = [...change.eventTypes];
        const isEnabled = change.enabled ?? row.enabled;
        const turnsOn = isEnabled && !row.enabled;
        if (changed.length > 0) recordEvent(em, { ...webhookAuditEvent(row, "webhook.update", actor), changed });
        if (turnsOn) {
          Object.assign(row, { enabled: true, disabledReason: null });
          recordEvent(em, webhookAuditEvent(row, "webhook.enable", actor));
        }
        await em.flush();
        if (!isEnabled && row.enabled) await disableWebhook(em, row, undefined, actor);
        if (isEnabled) await endPause(em, accountId, id);
        await announceWebhookChange(em, accountId);
        return toWebhook(await em.refreshOrFail(row));
      }),

    rotateSecret: (accountId, id, secret, graceSeconds, actor) =>
      inTransaction(orm, async (em) => {
        const row = await locked(em, accountId, id);
        if (row === null) return undefined;
        const before = openWebhookSecrets(sealer, accountId, id, row.sealedSecrets);
        const rotatedAt = await transactionTime(em);
        const keepsOld = graceSeconds > 0;
        row.sealedSecrets = sealWebhookSecrets(sealer, accountId, id, {
          secret,
          ...(keepsOld && { previous: before.secret }),
        });
        row.secretRotatedAt = rotatedAt;
        row.previousSecretUntil = keepsOld ? new Date(rotatedAt.getTime() + graceSeconds * 1_000) : null;
        recordEvent(em, { ...webhookAuditEvent(row, "webhook.rotate_secret", actor), changed: ["secret"] });
        return toWebhook(row);
      }),

    delete: (accountId, id, actor) =>
      inTransaction(orm, async (em) => {
        const row = await locked(em, accountId, id);
        if (row === null) return false;
        // Its deliveries are deleted with the row (on delete cascade).
        em.remove(row);
        recordEvent(em, webhookAuditEvent(row, "webhook.delete", actor));
        await announceWebhookChange(em, accountId);
        return true;
      }),
  };
}
