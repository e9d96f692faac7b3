import type { Dispatcher } from "undici";
import { sendToUpstream, type ExchangeLimits } from "../integrations/upstream-exchange.ts";

/** The options that libraries pass to `fetch`. Redirects are never followed. */
export interface GuardedFetchOptions {
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | Headers | undefined;
  readonly body?: unknown;
  readonly signal?: AbortSignal | null | undefined;
}

/** A `fetch` for libraries. Throws for a forbidden destination or an exceeded limit. */
export type GuardedFetch = (url: string, options: GuardedFetchOptions) => Promise<Response>;

/** Statuses without a body in the Fetch standard. */
const WITHOUT_BODY = [101, 204, 205, 304];

function bodyOf(body: unknown): string | Buffer | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string") return body;
  if (body instanceof URLSearchParams) return body.toString();
  if (body instanceof Uint8Array) return Buffer.from(body);
  throw new TypeError("a guarded request has a body of text, a form or bytes");
}

/** Sends requests through the guarded dispatcher and limits their responses. */
export function createGuardedFetch(dispatcher: Dispatcher, limits: ExchangeLimits): GuardedFetch {
  return async (url, { method = "GET", headers = {}, body, signal }) => {
    const { origin, pathname, search } = new URL(url);
    const fields = Object.fromEntries(new Headers(headers));
    const request = { method, origin, path: pathname + search, headers: fields, body: bodyOf(body) };
    const outcome = await sendToUpstream(dispatcher, request, limits, signal ?? new AbortController().signal);
    if ("failure" in outcome) {
      const { failure } = outcome;
      if (failure.kind === "broken") throw failure.error;
      throw new Error(
        failure.kind === "too_large"
          ? `${origin} answers more than ${limits.maxBytes} bytes`
          : `${origin} did not answer within ${limits.timeoutMs} ms`,
      );
    }
    const { answer } = outcome;
    const content = WITHOUT_BODY.includes(answer.status) ? null : new Uint8Array(answer.body);
    return new Response(content, { status: answer.status, headers: answer.headers });
  };
}
