import { type EntityManager, LockMode, raw } from "@mikro-orm/postgresql";
import { SERVICE } from "../../../identity/actor.ts";
import {
  type AttemptResult,
  type DeliveryQueue,
  type DueDelivery,
  type DueWebhook,
  type Verdict,
  WEBHOOK_CLAIM_SECONDS,
} from "../../../webhooks/delivery-queue.ts";
import { WebhookEntity } from "../../entities/webhooks/webhook.ts";
import { WebhookDeliveryEntity } from "../../entities/webhooks/webhook-delivery.ts";
import { inTransaction, now, type Orm, withEntities } from "../../orm.ts";
import type { Sealer } from "../../sealing.ts";
import { findNextDelivery, releaseWebhook, trimDeliveries } from "../../statements/webhook.ts";
import { runnerOf } from "../run-statement.ts";
import { disableWebhook } from "./webhook-change.ts";
import { openWebhookSecrets } from "./webhook-row.ts";

/** Maximum number of webhooks of one account per claim. */
const PER_ACCOUNT = 4;
/** The number of due webhooks among which accounts take turns. */
const CLAIM_WINDOW = 128;

/** The state of a webhook without failed attempts. */
const SUCCEEDING = { failures: 0, failingSince: null, pausedUntil: null };

const inSeconds = (seconds: number) => raw("now() + make_interval(secs => ?)", [seconds]);

/** Orders due webhooks by taking turns between accounts, and omits those that exceed an account's share. */
function takeTurns<Due extends DueWebhook>(due: readonly Due[]): readonly Due[] {
  const byAccount = Object.values(Object.groupBy(due, ({ accountId }) => accountId));
  return Array.from({ length: PER_ACCOUNT }, (_, turn) => byAccount.flatMap((own) => own?.[turn] ?? [])).flat();
}

async function hasPending(em: EntityManager, accountId: string, webhookId: string): Promise<boolean> {
  const pending = { accountId, webhookId, status: "pending" } as const;
  return (await em.findOne(WebhookDeliveryEntity, pending, { fields: ["id"] })) !== null;
}

/** The queue of deliveries in PostgreSQL, one row per webhook. */
export function createDeliveryQueue(orm: Orm, sealer: Sealer): DeliveryQueue {
  const isOneOf = (claimed: readonly DueWebhook[]) => ({
    $or: claimed.map(({ accountId, webhookId }) => ({ accountId, id: webhookId })),
  });

  async function change(
    em: EntityManager,
    { accountId, webhookId, id }: DueDelivery,
    { responseStatus, error }: AttemptResult,
    verdict: Verdict,
  ): Promise<void> {
    const webhook = { accountId, id: webhookId };
    const row = await em.findOne(WebhookEntity, webhook, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (row === null) return;
    const attempt = {
      attempts: raw("attempts + 1"),
      lastAttemptAt: now(),
      responseStatus: responseStatus ?? null,
      error: error ?? null,
    };
    // A delivery that was given up meanwhile keeps its status, unless this attempt delivered it.
    const isPending = { accountId, id, status: "pending" as const };
    if (verdict.kind === "delivered") {
      await em.nativeUpdate(
        WebhookDeliveryEntity,
        { accountId, id },
        { ...attempt, status: "delivered", deliveredAt: now() },
      );
      await em.nativeUpdate(WebhookEntity, webhook, SUCCEEDING);
      return;
    }
    if (verdict.kind === "disable") {
      await em.nativeUpdate(WebhookDeliveryEntity, isPending, { ...attempt, status: "failed" });
      if (row.enabled) await disableWebhook(em, row, verdict.reason, SERVICE);
      return;
    }
    await em.nativeUpdate(
      WebhookDeliveryEntity,
      isPending,
      verdict.kind === "retry"
        ? { ...attempt, nextAttemptAt: inSeconds(verdict.afterSeconds) }
        : { ...attempt, status: "failed" },
    );
    // The series of failures ends with the last waiting delivery. The next event starts a new one.
    if (verdict.kind === "give_up" && !(await hasPending(em, accountId, webhookId))) {
      await em.nativeUpdate(WebhookEntity, webhook, SUCCEEDING);
      return;
    }
    await em.nativeUpdate(WebhookEntity, webhook, {
      failures: row.failures + 1,
      failingSince: row.failingSince ?? now(),
      pausedUntil: inSeconds(verdict.pauseSeconds),
    });
  }

  return {
    claim: (limit, busy) =>
      inTransaction(orm, async (em) => {
        const isFree = { $or: [{ claimedUntil: null }, { claimedUntil: { $lt: now() } }] };
        const isDue = { dueAt: { $lte: now() }, accountId: { $nin: [...busy] }, ...isFree };
        const some = {
          fields: ["id"],
          orderBy: { dueAt: "asc" },
          limit: Math.max(limit, CLAIM_WINDOW),
          lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE,
        } as const;
        const due = (await em.find(WebhookEntity, isDue, some)).map(({ accountId, id }) => ({
          accountId,
          webhookId: id,
        }));
        const chosen = takeTurns(due).slice(0, limit);
        if (chosen.length > 0)
          await em.nativeUpdate(WebhookEntity, isOneOf(chosen), { claimedUntil: inSeconds(WEBHOOK_CLAIM_SECONDS) });
        return chosen;
      }),

    async renew(claimed) {
      const isRunning = { ...isOneOf(claimed), claimedUntil: { $ne: null } };
      const change = { claimedUntil: inSeconds(WEBHOOK_CLAIM_SECONDS) };
      await withEntities(orm, (em) => em.nativeUpdate(WebhookEntity, isRunning, change));
    },

    next: (claimed) =>
      withEntities(orm, async (em) => {
        const { accountId, webhookId } = claimed;
        const [row] = (await findNextDelivery(runnerOf(em), claimed)).rows;
        if (row === undefined) return undefined;
        const { sealedSecrets, hasPrevious, failingSince, ...delivery } = row;
        const { secret, previous } = openWebhookSecrets(sealer, accountId, webhookId, sealedSecrets);
        const secrets = hasPrevious && previous !== undefined ? [secret, previous] : [secret];
        return { ...delivery, accountId, webhookId, failingSince: failingSince ?? undefined, secrets };
      }),

    record: (delivery, result, verdict) => inTransaction(orm, (em) => change(em, delivery, result, verdict)),

    release: (claimed) =>
      inTransaction(orm, async (em) => {
        const { accountId, webhookId } = claimed;
        // Waits for transactions that add deliveries, so that the next statement sees them.
        const lock = { lockMode: LockMode.PESSIMISTIC_WRITE, fields: ["id"] } as const;
        await em.findOne(WebhookEntity, { accountId, id: webhookId }, lock);
        await releaseWebhook(runnerOf(em), claimed);
        await trimDeliveries(runnerOf(em), claimed);
      }),
  };
}
