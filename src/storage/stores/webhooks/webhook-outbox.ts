import type { EntityManager } from "@mikro-orm/postgresql";
import { sql } from "kysely";
import { SERVICE } from "../../../identity/actor.ts";
import { randomId } from "../../../identity/random.ts";
import type { QuietAccounts } from "../../../webhooks/quiet-accounts.ts";
import { MAX_WAITING_DELIVERIES } from "../../../webhooks/webhook.ts";
import type { WebhookEvent } from "../../../webhooks/webhook-event.ts";
import { tablesOf } from "../../orm.ts";
import { disableWebhook } from "./webhook-change.ts";

const FALLS_BEHIND = `${MAX_WAITING_DELIVERIES} deliveries are waiting, more than a webhook can have.`;

/** Stores events for the webhooks of their accounts, in the transactions of the changes that they report. */
export interface WebhookOutbox {
  /** Whether an event of the account needs no transaction, because the account has no webhook. */
  isQuiet(accountId: string): boolean;
  /** Stores a delivery for each webhook that wants the event, within the transaction. */
  record(em: EntityManager, event: WebhookEvent): Promise<void>;
}

/** Locks the account's enabled webhooks in a fixed order, so that concurrent changes wait for each other. */
function lockWebhooks(em: EntityManager, accountId: string) {
  return tablesOf(em)
    .selectFrom("webhook")
    .select(["id", "name", "url", "event_types", sql<Date>`clock_timestamp()`.as("now")])
    .where(({ and }) => and({ account_id: accountId, enabled: true }))
    .orderBy("id")
    .forNoKeyUpdate()
    .execute();
}

/** Whether the webhook has the maximum number of waiting deliveries. Stops counting there. */
async function isBehind(em: EntityManager, accountId: string, webhookId: string): Promise<boolean> {
  const { count } = await tablesOf(em)
    .selectFrom((from) =>
      from
        .selectFrom("webhook_delivery")
        .select("id")
        .where(({ and }) => and({ account_id: accountId, webhook_id: webhookId }))
        .where("status", "=", sql.lit("pending"))
        .limit(MAX_WAITING_DELIVERIES)
        .as("waiting"),
    )
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return count >= MAX_WAITING_DELIVERIES;
}

export function createWebhookOutbox(quiet: QuietAccounts): WebhookOutbox {
  return {
    isQuiet: (accountId) => quiet.has(accountId),

    async record(em, { accountId, type, subject, data }) {
      if (quiet.has(accountId)) return;
      const rememberQuiet = quiet.observe();
      const webhooks = await lockWebhooks(em, accountId);
      if (webhooks.length === 0) rememberQuiet(accountId);
      const wanting: string[] = [];
      for (const { event_types: types, now: _, ...webhook } of webhooks) {
        if (!types.includes(type)) continue;
        if (await isBehind(em, accountId, webhook.id))
          await disableWebhook(em, { accountId, ...webhook }, FALLS_BEHIND, SERVICE);
        else wanting.push(webhook.id);
      }
      const [first] = webhooks;
      if (first === undefined || wanting.length === 0) return;
      const payload = JSON.stringify({ type, timestamp: first.now.toISOString(), data });
      const delivery = { account_id: accountId, event_type: type, subject, payload, created_at: first.now };
      await tablesOf(em)
        .insertInto("webhook_delivery")
        .values(wanting.map((webhookId) => ({ ...delivery, id: randomId("delivery_"), webhook_id: webhookId })))
        .execute();
      await tablesOf(em)
        .updateTable("webhook")
        .set({ due_at: sql<Date>`greatest(now(), paused_until)` })
        .where("account_id", "=", accountId)
        .where("id", "in", wanting)
        .execute();
    },
  };
}
