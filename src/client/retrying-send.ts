import { IDEMPOTENCY_KEY, newIdempotencyKey } from "./idempotency-key.ts";
import { pause, type RetryPolicy, waitAfter } from "./retry-policy.ts";
import type { Send } from "./send.ts";

/** Idempotent methods (RFC 9110, 9.2.2). */
const IDEMPOTENT = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"];

/** The path where a POST with a key runs only once. Other paths ignore the key. */
const DONE_ONCE = "/api/v1/mcp-servers";

/** Statuses of temporary failures, by a service or a proxy. */
const PASSING = [502, 503, 504];

/**
 * Retries idempotent methods and creations of connections after a temporary failure or without a response, and every
 * request after a 429 that names a time, because a refused request was not executed. A creation gets an
 * `Idempotency-Key` unless the caller supplied one.
 */
export function createRetryingSend(send: Send, policy: RetryPolicy): Send {
  return async (request) => {
    if (isDoneOnce(request) && !request.headers.has(IDEMPOTENCY_KEY)) {
      request.headers.set(IDEMPOTENCY_KEY, newIdempotencyKey());
    }
    for (let attempt = 1; ; attempt++) {
      const outcome = await send(request.clone()).catch((error: unknown) => ({ error }));
      const waitMs = waitAfter(
        policy,
        attempt,
        outcome instanceof Response ? outcome.headers.get("retry-after") : null,
      );
      if (waitMs === undefined || request.signal.aborted || !mayRepeat(request, outcome)) return settle(outcome);
      if (outcome instanceof Response) await outcome.body?.cancel();
      await pause(waitMs, request.signal);
    }
  };
}

interface NoAnswer {
  readonly error: unknown;
}

function mayRepeat(request: Request, outcome: Response | NoAnswer): boolean {
  if (outcome instanceof Response && outcome.status === 429) return outcome.headers.has("retry-after");
  if (outcome instanceof Response && !PASSING.includes(outcome.status)) return false;
  return IDEMPOTENT.includes(request.method) || isDoneOnce(request);
}

function isDoneOnce({ method, url }: Request): boolean {
  return method === "POST" && new URL(url).pathname.endsWith(DONE_ONCE);
}

function settle(outcome: Response | NoAnswer): Response {
  if (outcome instanceof Response) return outcome;
  throw outcome.error;
}
