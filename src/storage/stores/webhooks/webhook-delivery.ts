import { LockMode } from "@mikro-orm/postgresql";
import { DomainError } from "../../../domain-error.ts";
import type { DeliveryStore } from "../../../webhooks/webhook-store.ts";
import { WebhookEntity } from "../../entities/webhooks/webhook.ts";
import { WebhookDeliveryEntity } from "../../entities/webhooks/webhook-delivery.ts";
import { inTransaction, type Orm, transactionTime, withEntities } from "../../orm.ts";
import { recordEvent } from "../identity/audit-event.ts";
import { endPause } from "./webhook.ts";
import { webhookAuditEvent } from "./webhook-change.ts";
import { toWebhookDelivery } from "./webhook-row.ts";

/** Deliveries in PostgreSQL, for their owners. */
export function createDeliveryStore(orm: Orm): DeliveryStore {
  return {
    async find(accountId, id) {
      const row = await withEntities(orm, (em) => em.findOne(WebhookDeliveryEntity, { accountId, id }));
      return row === null ? undefined : toWebhookDelivery(row);
    },

    async list(accountId, { webhookId, status }, limit, offset) {
      const where = {
        accountId,
        ...(webhookId === undefined ? {} : { webhookId }),
        ...(status === undefined ? {} : { status }),
      };
      const options = { orderBy: { sequence: "desc" }, limit, offset } as const;
      const [rows, totalCount] = await withEntities(orm, (em) =>
        em.findAndCount(WebhookDeliveryEntity, where, options),
      );
      return { deliveries: rows.map(toWebhookDelivery), totalCount };
    },

    resend: (accountId, id, actor) =>
      inTransaction(orm, async (em) => {
        const found = await em.findOne(WebhookDeliveryEntity, { accountId, id });
        if (found === null) return undefined;
        const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
        const webhook = await em.findOne(WebhookEntity, { accountId, id: found.webhookId }, lock);
        if (webhook === null) return undefined;
        if (!webhook.enabled)
          throw new DomainError("conflict", `The webhook ${webhook.id} is disabled; enable it before resending.`);
        const delivery = await em.findOne(WebhookDeliveryEntity, { accountId, id }, { ...lock, refresh: true });
        if (delivery === null) return undefined;
        const queuedAt = await transactionTime(em);
        Object.assign(delivery, { status: "pending", attempts: 0, queuedAt, nextAttemptAt: queuedAt });
        Object.assign(delivery, { error: null, responseStatus: null, deliveredAt: null });
        recordEvent(em, { ...webhookAuditEvent(webhook, "webhook.resend", actor), changed: [id] });
        await em.flush();
        await endPause(em, accountId, webhook.id);
        return toWebhookDelivery(delivery);
      }),
  };
}
