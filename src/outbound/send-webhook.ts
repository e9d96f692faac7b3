import type { Dispatcher } from "undici";
import { OutboundRefused } from "../integrations/outbound-refused.ts";
import { type ExchangeFailure, sendToUpstream } from "../integrations/upstream-exchange.ts";
import type { AttemptResult } from "../webhooks/delivery-queue.ts";
import type { SendWebhook } from "../webhooks/deliver-due.ts";

/** Maximum number of bytes that are read of a receiver's response. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** How long an attempt may take, from the first byte sent to the last received. */
const TIMEOUT_MS = 10_000;

/** Sends webhooks through the guarded dispatcher. A 2xx answer accepts a delivery; redirects are not followed. */
export function createSendWebhook(
  dispatcher: Dispatcher,
  limits: { readonly timeoutMs: number } = { timeoutMs: TIMEOUT_MS },
): SendWebhook {
  const { timeoutMs } = limits;
  return async ({ url, headers, body }, signal) => {
    const { origin, pathname, search } = new URL(url);
    const request = {
      method: "POST",
      origin,
      path: pathname + search,
      headers: { ...headers, "content-type": "application/json", "user-agent": "Patchbay-Webhooks" },
      body,
    };
    const outcome = await sendToUpstream(dispatcher, request, { maxBytes: MAX_ANSWER_BYTES, timeoutMs }, signal);
    if ("answer" in outcome) return answered(outcome.answer.status);
    const { failure } = outcome;
    // The status decides; the rest of the answer is not read.
    if (failure.kind === "too_large") return answered(failure.status ?? 0);
    return { responseStatus: undefined, error: reasonOfFailure(failure, timeoutMs) };
  };
}

function answered(status: number): AttemptResult {
  if (status >= 200 && status < 300) return { responseStatus: status, error: undefined };
  const isRedirect = status >= 300 && status < 400;
  const error = isRedirect
    ? `The receiver answered ${status}; redirects are not followed.`
    : `The receiver answered ${status}.`;
  return { responseStatus: status, error };
}

function reasonOfFailure(failure: Exclude<ExchangeFailure, { kind: "too_large" }>, timeoutMs: number): string {
  if (failure.kind === "timeout") return `The receiver did not answer within ${timeoutMs / 1_000} seconds.`;
  // The text of other errors may name a resolved address.
  if (failure.error instanceof OutboundRefused) return failure.error.message;
  return failure.afterStart
    ? "The connection to the receiver was lost during its answer."
    : "The receiver could not be reached.";
}
