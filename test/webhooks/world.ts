import { randomBytes } from "node:crypto";
import type { LookupFunction } from "node:net";
import { pino } from "pino";
import type { ClaimRunner } from "../../src/claim-runner.ts";
import { OPERATOR } from "../../src/identity/actor.ts";
import { randomId } from "../../src/identity/random.ts";
import { createGuardedDispatcher } from "../../src/outbound/guarded-dispatcher.ts";
import { createSendWebhook } from "../../src/outbound/send-webhook.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { inTransaction } from "../../src/storage/orm.ts";
import { createSealer } from "../../src/storage/sealing.ts";
import { createWebhookStore } from "../../src/storage/stores/webhooks/webhook.ts";
import { createDeliveryStore } from "../../src/storage/stores/webhooks/webhook-delivery.ts";
import { createWebhookOutbox } from "../../src/storage/stores/webhooks/webhook-outbox.ts";
import { createDeliveryQueue } from "../../src/storage/stores/webhooks/webhook-queue.ts";
import { createDeliverDue } from "../../src/webhooks/deliver-due.ts";
import { startDeliveryRunner } from "../../src/webhooks/delivery-runner.ts";
import { createQuietAccounts } from "../../src/webhooks/quiet-accounts.ts";
import { randomWebhookSecret } from "../../src/webhooks/sign-webhook.ts";
import type { Webhook, WebhookDelivery } from "../../src/webhooks/webhook.ts";
import { WEBHOOK_EVENT_TYPES } from "../../src/webhooks/webhook-event.ts";
import { createTestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

/** The parts of a replica that tests may change. */
export interface ReplicaOptions {
  readonly allow: readonly string[];
  readonly lookup?: LookupFunction;
  readonly timeoutMs?: number;
  /** The clock that decides about three days. */
  readonly now?: () => number;
}

/** Webhooks over a real database, without the rest of the service. */
export interface WebhookWorld {
  readonly database: Database;
  readonly webhooks: ReturnType<typeof createWebhookStore>;
  readonly deliveries: ReturnType<typeof createDeliveryStore>;
  readonly queue: ReturnType<typeof createDeliveryQueue>;
  createAccount(): Promise<string>;
  createWebhook(accountId: string, url: string): Promise<{ readonly id: string; readonly secret: string }>;
  /** Stores an event about connection `id`, as a change does. */
  emit(accountId: string, id: number, type?: (typeof WEBHOOK_EVENT_TYPES)[number]): Promise<void>;
  startReplica(options: ReplicaOptions): ClaimRunner;
  /** Ends the pauses after failures of all webhooks. */
  endPauses(): Promise<void>;
  webhook(accountId: string, id: string): Promise<Webhook>;
  /** Waits until the oldest delivery of an account has these properties. */
  delivery(accountId: string, isLike: (delivery: WebhookDelivery) => boolean): Promise<WebhookDelivery>;
  close(): Promise<void>;
}

export async function createWebhookWorld(): Promise<WebhookWorld> {
  const testDatabase = await createTestDatabase();
  const database = await openDatabase({ url: testDatabase.url, poolSize: 8 });
  const { orm, pool } = database;
  const sealer = createSealer([{ version: 1, key: randomBytes(32) }]);
  const feed = { onChange: () => () => {}, onGap: () => () => {}, isHealthy: () => false };
  const outbox = createWebhookOutbox(createQuietAccounts(feed));
  const webhooks = createWebhookStore(orm, sealer);
  const deliveries = createDeliveryStore(orm);
  const queue = createDeliveryQueue(orm, sealer);
  const log = pino({ level: "silent" });
  const replicas: ClaimRunner[] = [];
  return {
    database,
    webhooks,
    deliveries,
    queue,
    async createAccount() {
      const id = randomId("acc_");
      await pool.query("insert into account (id, email, password_hash) values ($1, $1 || '@example.com', '')", [id]);
      return id;
    },
    async createWebhook(accountId, url) {
      const secret = randomWebhookSecret();
      const fresh = { accountId, id: randomId("webhook_"), name: "", url, eventTypes: WEBHOOK_EVENT_TYPES, secret };
      return { id: (await webhooks.insert(fresh, 20, OPERATOR)).id, secret };
    },
    emit: (accountId, id, type = "connection.verified") =>
      inTransaction(orm, (em) =>
        outbox.record(em, { accountId, type, subject: `connection/${id}`, data: { mcp_server_id: id } }),
      ),
    startReplica({ allow, lookup, timeoutMs = 10_000, now }) {
      const dispatcher = createGuardedDispatcher({ allow, ...(lookup && { lookup }) });
      const send = createSendWebhook(dispatcher, { timeoutMs });
      const replica = startDeliveryRunner({
        queue,
        deliverDue: createDeliverDue({ queue, send, log, ...(now && { now }) }),
        log,
      });
      replicas.push(replica);
      return replica;
    },
    async endPauses() {
      await pool.query("update webhook_delivery set next_attempt_at = now()");
      await pool.query("update webhook set paused_until = null, due_at = now() where due_at is not null");
    },
    async webhook(accountId, id) {
      const found = await webhooks.find(accountId, id);
      if (found === undefined) throw new Error(`there is no webhook ${id}`);
      return found;
    },
    delivery: (accountId, isLike) =>
      until(
        async () => {
          const found = (await deliveries.list(accountId, { webhookId: undefined, status: undefined }, 500, 0))
            .deliveries;
          const oldest = found.at(-1);
          return oldest !== undefined && isLike(oldest) && oldest;
        },
        { what: isLike.toString() },
      ),
    async close() {
      await Promise.all(replicas.map((replica) => replica.close()));
      await database.close();
      await testDatabase.close();
    },
  };
}
