import { setTimeout as sleep } from "node:timers/promises";
import { sendToUpstream, type ExchangeLimits, type UpstreamOutcome } from "../../upstream-exchange.ts";
import type { Target } from "../../target.ts";
import { MAX_WAIT_MS, DEFAULT_WAIT_MS } from "../../upstream-rate-limiter.ts";
import type { ToolDefinition } from "../../tool.ts";
import { requestedWaitMs, effectiveStatus } from "../results/requested-wait.ts";
import type { OpenApiCallContext } from "./call-context.ts";
import type { OutgoingRequest } from "./request.ts";
import { codeOf } from "../../connection-error.ts";

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
  {
    dispatcher,
    rateLimiter,
    defaultWaitMs = DEFAULT_WAIT_MS,
  }: Pick<OpenApiCallContext, "dispatcher" | "rateLimiter" | "defaultWaitMs">,
  request: OutgoingRequest,
  tool: ToolDefinition,
  target: Target,
  limits: ExchangeLimits,
  signal: AbortSignal,
): Promise<UpstreamOutcome> {
  const startedMs = performance.now();
  const first = await sendToUpstream(dispatcher, request, limits, signal);
  const waitMs = waitAfter(first, defaultWaitMs);
  if (waitMs !== undefined) rateLimiter.pause(target, waitMs);
  const pauseMs = pauseAfter(first, waitMs, tool);
  if (pauseMs === undefined) return first;
  const leftMs = limits.timeoutMs - (performance.now() - startedMs) - pauseMs;
  if (leftMs <= 0) return first;
  await sleep(pauseMs, undefined, { signal });
  const second = await sendToUpstream(dispatcher, request, { ...limits, timeoutMs: leftMs }, signal);
  const nextWaitMs = waitAfter(second, defaultWaitMs);
  if (nextWaitMs !== undefined) rateLimiter.pause(target, nextWaitMs);
  return second;
}

/** How long the connection is to be left alone after an outcome; undefined when nothing asks for it. */
function waitAfter(outcome: UpstreamOutcome, defaultWaitMs: number): number | undefined {
  if (!("answer" in outcome)) return undefined;
  const asked = requestedWaitMs(outcome.answer);
  return asked ?? (effectiveStatus(outcome.answer) === 429 ? defaultWaitMs : undefined);
}

/** How long to pause before the request is sent again; undefined when it is not. */
function pauseAfter(outcome: UpstreamOutcome, waitMs: number | undefined, tool: ToolDefinition): number | undefined {
  const delayMs = RETRY_DELAY_MS * (1 + Math.random());
  if (waitMs !== undefined) {
    // It was turned away, so nothing was done yet.
    const isHarmless = tool.readOnly || tool.hints?.idempotent === true;
    return isHarmless && waitMs <= MAX_WAIT_MS ? waitMs + delayMs : undefined;
  }
  if (!tool.readOnly) return undefined;
  const isPassing =
    "answer" in outcome
      ? RETRY_STATUSES.has(outcome.answer.status)
      : outcome.failure.kind === "broken" && RETRY_CODES.has(codeOf(outcome.failure.error) ?? "");
  return isPassing ? delayMs : undefined;
}
