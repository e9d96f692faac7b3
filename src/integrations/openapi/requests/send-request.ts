import { setTimeout as sleep } from "node:timers/promises";
import { sendToUpstream, type ExchangeLimits, type UpstreamOutcome } from "../../upstream-exchange.ts";
import type { Target } from "../../target.ts";
import { MAX_WAIT_MS, DEFAULT_WAIT_MS } from "../../upstream-rate-limiter.ts";
import type { ToolDefinition } from "../../tool.ts";
import { requestedWaitMs, effectiveStatus } from "../results/requested-wait.ts";
import type { OpenApiCallContext } from "./call-context.ts";
import type { OutgoingRequest } from "./request.ts";
import { codeOf } from "../../connection-error.ts";

/** Milliseconds before a retry, with jitter. */
const RETRY_DELAY_MS = 150;
const RETRY_STATUSES = new Set([502, 503, 504]);
const RETRY_CODES = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/**
 * Sends a request, and once more when a retry may help: reads after a temporary failure, and idempotent calls
 * rejected with a short wait. The wait applies to all calls of the connection. Throws only the signal's reason.
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
  const { timeoutMs } = limits;
  const leftMs = timeoutMs === undefined ? undefined : timeoutMs - (performance.now() - startedMs) - pauseMs;
  if (leftMs !== undefined && leftMs <= 0) return first;
  await sleep(pauseMs, undefined, { signal });
  const second = await sendToUpstream(dispatcher, request, { ...limits, timeoutMs: leftMs }, signal);
  const nextWaitMs = waitAfter(second, defaultWaitMs);
  if (nextWaitMs !== undefined) rateLimiter.pause(target, nextWaitMs);
  return second;
}

/** Milliseconds to pause the connection; undefined for none. */
function waitAfter(outcome: UpstreamOutcome, defaultWaitMs: number): number | undefined {
  if (!("answer" in outcome)) return undefined;
  const asked = requestedWaitMs(outcome.answer);
  return asked ?? (effectiveStatus(outcome.answer) === 429 ? defaultWaitMs : undefined);
}

/** Milliseconds before the retry; undefined for no retry. */
function pauseAfter(outcome: UpstreamOutcome, waitMs: number | undefined, tool: ToolDefinition): number | undefined {
  const delayMs = RETRY_DELAY_MS * (1 + Math.random());
  if (waitMs !== undefined) {
    // The request was rejected before it was executed.
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
