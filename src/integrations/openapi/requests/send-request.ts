import { setTimeout as sleep } from "node:timers/promises";
import { exchange, type ExchangeLimits, type Outcome } from "../../exchange.ts";
import type { Target } from "../../target.ts";
import { LONGEST_WAIT_MS, UNTOLD_WAIT_MS } from "../../upstream-rate-limiter.ts";
import type { ToolDefinition } from "../../tool.ts";
import { askedWaitMs, statusMeant } from "../results/requested-wait.ts";
import type { CallContext } from "../call-context.ts";
import type { OutgoingRequest } from "./request.ts";
import { codeOf } from "../results/upstream-error.ts";

/** Before a request is repeated; grown by a random share, so that many do not come back together. In milliseconds. */
const RETRY_DELAY_MS = 150;
const RETRY_STATUSES = new Set([502, 503, 504]);
const RETRY_CODES = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/**
 * Sends a request, once more where a moment's wait may mend what went wrong: reads after a failure that passes, and
 * whatever is harmless to repeat after it was turned away with a short time to wait. That time holds for all calls of the
 * connection. Throws only when `signal` aborts.
 */
export async function sendRequest(
  { dispatcher, pace, untoldWaitMs = UNTOLD_WAIT_MS }: Pick<CallContext, "dispatcher" | "pace" | "untoldWaitMs">,
  request: OutgoingRequest,
  tool: ToolDefinition,
  target: Target,
  limits: ExchangeLimits,
  signal: AbortSignal,
): Promise<Outcome> {
  const startedMs = performance.now();
  const first = await exchange(dispatcher, request, limits, signal);
  const waitMs = waitAfter(first, untoldWaitMs);
  if (waitMs !== undefined) pace.hold(target, waitMs);
  const pauseMs = pauseAfter(first, waitMs, tool);
  if (pauseMs === undefined) return first;
  const leftMs = limits.timeoutMs - (performance.now() - startedMs) - pauseMs;
  if (leftMs <= 0) return first;
  await sleep(pauseMs, undefined, { signal });
  const second = await exchange(dispatcher, request, { ...limits, timeoutMs: leftMs }, signal);
  const nextWaitMs = waitAfter(second, untoldWaitMs);
  if (nextWaitMs !== undefined) pace.hold(target, nextWaitMs);
  return second;
}

/** How long the connection is to be left alone after an outcome; undefined when nothing asks for it. */
function waitAfter(outcome: Outcome, untoldWaitMs: number): number | undefined {
  if (!("answer" in outcome)) return undefined;
  const asked = askedWaitMs(outcome.answer);
  return asked ?? (statusMeant(outcome.answer) === 429 ? untoldWaitMs : undefined);
}

/** How long to pause before the request is sent again; undefined when it is not. */
function pauseAfter(outcome: Outcome, waitMs: number | undefined, tool: ToolDefinition): number | undefined {
  const delayMs = RETRY_DELAY_MS * (1 + Math.random());
  if (waitMs !== undefined) {
    // It was turned away, so nothing was done yet.
    const isHarmless = tool.readOnly || tool.hints?.idempotent === true;
    return isHarmless && waitMs <= LONGEST_WAIT_MS ? waitMs + delayMs : undefined;
  }
  if (!tool.readOnly) return undefined;
  const isPassing =
    "answer" in outcome
      ? RETRY_STATUSES.has(outcome.answer.status)
      : outcome.failure.kind === "broken" && RETRY_CODES.has(codeOf(outcome.failure.error) ?? "");
  return isPassing ? delayMs : undefined;
}
