import type { Logger } from "pino";
import type { AttemptResult, DeliveryQueue, DueWebhook } from "./delivery-queue.ts";
import { judgeAttempt } from "./judge-attempt.ts";
import { type SignedHeaders, signWebhook } from "./sign-webhook.ts";

/** Sends one request to a receiver. Throws only the signal's reason. */
export type SendWebhook = (
  request: { readonly url: string; readonly headers: SignedHeaders; readonly body: string },
  signal: AbortSignal,
) => Promise<AttemptResult>;

export interface DeliverDueDeps {
  readonly queue: DeliveryQueue;
  readonly send: SendWebhook;
  readonly log: Logger;
  /** Milliseconds since 1970; defaults to the system clock. */
  readonly now?: () => number;
}

/** How long one run of a webhook may last before others get its slot, in milliseconds. */
const RUN_MS = 10_000;

/** Sends the due deliveries of a claimed webhook one after the other, up to the first failure. */
export function createDeliverDue({
  queue,
  send,
  log,
  now = Date.now,
}: DeliverDueDeps): (claimed: DueWebhook, signal: AbortSignal) => Promise<void> {
  /** Returns whether the run continues. */
  async function deliverNext(claimed: DueWebhook, signal: AbortSignal): Promise<boolean> {
    const delivery = await queue.next(claimed);
    if (delivery === undefined) return false;
    const { id, payload, url, secrets } = delivery;
    const headers = signWebhook(secrets, id, payload, new Date(now()));
    const result = await send({ url, headers, body: payload }, signal);
    const verdict = judgeAttempt(delivery, result, new Date(now()), Math.random());
    await queue.record(delivery, result, verdict);
    if (verdict.kind === "disable")
      log.warn({ account: claimed.accountId, webhook: claimed.webhookId, reason: verdict.reason }, "webhook disabled");
    return verdict.kind === "delivered";
  }

  return async (claimed, signal) => {
    const end = performance.now() + RUN_MS;
    try {
      while (!signal.aborted && (await deliverNext(claimed, signal)) && performance.now() < end);
    } catch (error) {
      // The claim expires by itself, which is the pause before the next run.
      if (!signal.aborted) throw error;
    }
    await queue.release(claimed);
  };
}
