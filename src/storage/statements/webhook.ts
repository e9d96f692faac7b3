import { type QueryCreator, sql } from "kysely";
import type { Tables } from "../orm.ts";
import { prepare } from "./prepare.ts";

/** Maximum number of finished deliveries of a webhook that are kept. */
const MAX_FINISHED = 1_000;

interface WebhookKey {
  readonly accountId: string;
  readonly webhookId: string;
}

const pendingOf = (tables: QueryCreator<Tables>, { accountId, webhookId }: WebhookKey) =>
  tables
    .selectFrom("webhook_delivery as delivery")
    .where("delivery.account_id", "=", accountId)
    .where("delivery.webhook_id", "=", webhookId)
    .where("delivery.status", "=", sql.lit<"pending">("pending"));

/** The oldest due delivery of an enabled webhook that waits for no earlier one with the same subject. */
export const findNextDelivery = prepare("webhook_next_delivery", (tables, given: WebhookKey) =>
  pendingOf(tables, given)
    .innerJoin("webhook", (join) =>
      join.onRef("webhook.account_id", "=", "delivery.account_id").onRef("webhook.id", "=", "delivery.webhook_id"),
    )
    .select([
      "delivery.id",
      "delivery.payload",
      "delivery.attempts",
      "delivery.queued_at as queuedAt",
      "webhook.url",
      "webhook.sealed_secrets as sealedSecrets",
      "webhook.failures",
      "webhook.failing_since as failingSince",
      sql<boolean>`coalesce(previous_secret_until > now(), false)`.as("hasPrevious"),
    ])
    .where("webhook.enabled", "=", sql.lit(true))
    .where("delivery.next_attempt_at", "<=", sql<Date>`now()`)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("webhook_delivery as earlier")
            .select("earlier.id")
            .whereRef("earlier.account_id", "=", "delivery.account_id")
            .whereRef("earlier.webhook_id", "=", "delivery.webhook_id")
            .whereRef("earlier.subject", "=", "delivery.subject")
            .whereRef("earlier.sequence", "<", "delivery.sequence")
            .where("earlier.status", "=", sql.lit<"pending">("pending")),
        ),
      ),
    )
    .orderBy("delivery.sequence")
    .limit(sql.lit(1)),
);

/**
 * Ends a claim. The webhook is due when its next delivery is and its pause is over, but not before now, so that a
 * backlog goes behind the webhooks that are already due.
 */
export const releaseWebhook = prepare("webhook_release", (tables, given: WebhookKey) =>
  tables
    .with("head", (heads) =>
      pendingOf(heads, given)
        .distinctOn("delivery.subject")
        .select("delivery.next_attempt_at")
        .orderBy("delivery.subject")
        .orderBy("delivery.sequence"),
    )
    .updateTable("webhook")
    .set({
      claimed_until: null,
      due_at: sql<Date>`(select greatest(now(), min(next_attempt_at), webhook.paused_until) from head having count(*) > 0)`,
    })
    .where(({ and }) => and({ account_id: given.accountId, id: given.webhookId })),
);

/** Deletes the oldest finished deliveries above the limit. */
export const trimDeliveries = prepare("webhook_trim_deliveries", (tables, given: WebhookKey) =>
  tables
    .deleteFrom("webhook_delivery")
    .where(({ and }) => and({ account_id: given.accountId, webhook_id: given.webhookId }))
    .where("status", "<>", sql.lit<"pending">("pending"))
    .where("sequence", "<", ({ selectFrom }) =>
      selectFrom("webhook_delivery as newest")
        .select("newest.sequence")
        .where("newest.account_id", "=", given.accountId)
        .where("newest.webhook_id", "=", given.webhookId)
        .where("newest.status", "<>", sql.lit<"pending">("pending"))
        .orderBy("newest.sequence", "desc")
        .offset(sql.lit(MAX_FINISHED - 1))
        .limit(sql.lit(1)),
    ),
);
