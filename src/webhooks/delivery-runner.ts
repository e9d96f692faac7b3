import type { Logger } from "pino";
import { type ClaimRunner, startClaimRunner } from "../claim-runner.ts";
import { type DeliveryQueue, type DueWebhook, WEBHOOK_CLAIM_SECONDS } from "./delivery-queue.ts";

/** Maximum number of webhooks that a replica sends to at the same time. */
const SLOTS = 32;
/** An account with this many running webhooks gets no further slots on the replica. */
const BUSY_ACCOUNT = 4;

/** Sends due deliveries until closed, one at a time per webhook, with accounts taking turns. */
export function startDeliveryRunner(deps: {
  readonly queue: DeliveryQueue;
  readonly deliverDue: (claimed: DueWebhook, signal: AbortSignal) => Promise<void>;
  readonly log: Logger;
}): ClaimRunner {
  const { queue, deliverDue, log } = deps;
  return startClaimRunner({
    sources: [{ slots: SLOTS, claim: (limit, busy) => queue.claim(limit, busy) }],
    busyAccount: BUSY_ACCOUNT,
    claimSeconds: WEBHOOK_CLAIM_SECONDS,
    renew: (claimed) => queue.renew(claimed),
    run: (claimed, signal) =>
      deliverDue(claimed, signal).catch((error: unknown) => {
        // The claim expires, and the delivery is sent again.
        if (!signal.aborted)
          log.warn({ err: error, webhook: claimed.webhookId }, "a webhook delivery was interrupted; retrying");
      }),
    what: "webhook deliveries",
    log,
  });
}
