import type { Dispatcher } from "undici";
import { sendToUpstream, type ExchangeLimits, type ExchangeFailure } from "../upstream-exchange.ts";
import { decompress } from "../decompress.ts";

/** No complete answer was received. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  readonly failure: ExchangeFailure;

  constructor(failure: ExchangeFailure) {
    super(`no answer: ${failure.kind}`, failure.kind === "broken" ? { cause: failure.error } : undefined);
    this.failure = failure;
  }
}

export interface FetchOptions {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: URLSearchParams | string | null;
  readonly signal?: AbortSignal;
}

/** Statuses without a body (Fetch «null body status»). */
const BODILESS = new Set([204, 205, 304]);

/**
 * A `fetch` for OAuth libraries that uses the outbound guard, applies limits and never follows redirects. Throws
 * NoAnswer, or the signal's reason.
 */
export function createFetch(
  dispatcher: Dispatcher,
  limits: ExchangeLimits,
): (address: string, options: FetchOptions) => Promise<Response> {
  return async (address, { method, headers, body, signal = new AbortController().signal }) => {
    const url = new URL(address);
    const request = {
      method,
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      headers: { "user-agent": "patchbay", ...headers },
      body: body?.toString(),
    };
    const outcome = await sendToUpstream(dispatcher, request, limits, signal);
    if ("failure" in outcome) throw new NoAnswer(outcome.failure);
    const { status, headers: received, body: bytes } = outcome.answer;
    const plain = await decompress(bytes, received["content-encoding"] ?? "identity", limits.maxBytes);
    if (plain === "too_large") throw new NoAnswer({ kind: "too_large" });
    const text = plain === "not_readable" || BODILESS.has(status) ? null : plain.toString("utf8");
    return new Response(text, { status: status > 599 ? 599 : status, headers: received });
  };
}
