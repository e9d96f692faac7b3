import type { Logger } from "pino";
import type { ClaimRunner } from "../claim-runner.ts";
import type { Config } from "../config.ts";
import { checkReceiver } from "../outbound/check-receiver.ts";
import { createGuardedDispatcher } from "../outbound/guarded-dispatcher.ts";
import { createSendWebhook } from "../outbound/send-webhook.ts";
import type { EventListener } from "../storage/stores/connections/connection-event.ts";
import { createWebhookStore } from "../storage/stores/webhooks/webhook.ts";
import { createWebhookFeed } from "../storage/stores/webhooks/webhook-change.ts";
import { createDeliveryStore } from "../storage/stores/webhooks/webhook-delivery.ts";
import { createWebhookOutbox, type WebhookOutbox } from "../storage/stores/webhooks/webhook-outbox.ts";
import { createDeliveryQueue } from "../storage/stores/webhooks/webhook-queue.ts";
import { createDeliverDue } from "../webhooks/deliver-due.ts";
import { startDeliveryRunner } from "../webhooks/delivery-runner.ts";
import { createOwnDeliveries, type OwnDeliveries } from "../webhooks/own-deliveries.ts";
import { createOwnWebhooks, type OwnWebhooks } from "../webhooks/own-webhooks.ts";
import { createQuietAccounts } from "../webhooks/quiet-accounts.ts";
import type { Foundation } from "./foundation.ts";

/** Maximum number of sockets to one receiver, which the endpoints of several accounts may share. */
const RECEIVER_CONNECTIONS = 16;

export interface Webhooks {
  readonly webhooks: OwnWebhooks;
  readonly deliveries: OwnDeliveries;
  readonly outbox: WebhookOutbox;
  startRunner(): ClaimRunner;
}

export async function composeWebhooks(
  { outboundAllow: allow }: Config,
  { database: { orm }, sealer }: Foundation,
  listener: EventListener,
  log: Logger,
): Promise<Webhooks> {
  const quiet = createQuietAccounts(await createWebhookFeed(listener));
  // Webhooks use separate sockets, so that slow receivers take none from upstreams.
  const dispatcher = createGuardedDispatcher({
    allow,
    connectionsPerOrigin: RECEIVER_CONNECTIONS,
  });
  const queue = createDeliveryQueue(orm, sealer);
  const deliverDue = createDeliverDue({ queue, send: createSendWebhook(dispatcher), log });
  return {
    webhooks: createOwnWebhooks({
      store: createWebhookStore(orm, sealer),
      checkReceiver: (url) => checkReceiver(url, allow),
      onChange: (accountId) => quiet.forget(accountId),
    }),
    deliveries: createOwnDeliveries(createDeliveryStore(orm)),
    outbox: createWebhookOutbox(quiet),
    startRunner: () => startDeliveryRunner({ queue, deliverDue, log }),
  };
}
