import type { Dispatcher } from "undici";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../json.ts";
import type { ExchangeLimits } from "../upstream-exchange.ts";
import { reasonFor } from "../connection-error.ts";
import { createFetch, NoAnswer } from "./outbound-fetch.ts";
import { TokenFailure } from "./token-failure.ts";

const LIMITS: ExchangeLimits = { maxBytes: 256 * 1024, timeoutMs: 10_000 };
const MAX_DEPTH = 16;

export interface OutboundAccess {
  /** The guarded dispatcher. */
  readonly dispatcher: Dispatcher;
  /** Returns why a URL must not become a destination, or undefined. */
  readonly checkDestination: (url: string) => string | undefined;
}

/** A metadata document, or the reason why there is none. */
export type FetchedMetadata = { readonly document: JsonObject } | { readonly absent: string };

/**
 * Fetches a metadata document. Redirects are not followed; client errors and other content count as absent. Throws
 * TokenFailure when the server fails, or the signal's reason.
 */
export async function fetchMetadata(
  address: URL,
  { dispatcher, checkDestination }: OutboundAccess,
  signal: AbortSignal,
): Promise<FetchedMetadata> {
  const at = `${address.host}${address.pathname}`;
  const refused = checkDestination(address.href);
  if (refused !== undefined) throw new TokenFailure("other", destinationRefusal(refused, address.host));
  let response: Response;
  try {
    response = await createFetch(dispatcher, LIMITS)(address.href, {
      method: "GET",
      headers: { accept: "application/json" },
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    throw connectionFailure(at, error);
  }
  const { status } = response;
  if (status >= 500 || status === 429)
    throw new TokenFailure("down", `${at} answered ${status}. The fault is on its side; try again later.`);
  if (status !== 200)
    return { absent: `${at} answered ${status}${status < 400 ? ", and redirects are not followed" : ""}` };
  try {
    const document = parseJson(await response.text(), { maxDepth: MAX_DEPTH });
    return isJsonObject(document) ? { document } : { absent: `${at} holds no JSON object` };
  } catch {
    return { absent: `${at} holds no JSON` };
  }
}

/** Describes a rejected destination in a sentence that names the host. */
export function destinationRefusal(refused: string, host: string): string {
  return /^[A-Z]/.test(refused) ? refused : `An address at ${host} cannot be called: it ${refused}.`;
}

function connectionFailure(at: string, error: unknown): TokenFailure {
  if (!(error instanceof NoAnswer)) return new TokenFailure("other", `${at} could not be read.`, { cause: error });
  const { failure } = error;
  if (failure.kind === "timeout") return new TokenFailure("down", `${at} did not answer in time.`);
  if (failure.kind === "too_large") return new TokenFailure("other", `${at} answers more than metadata can be.`);
  const isRefused = failure.error.name === "OutboundRefused";
  const reason = isRefused ? failure.error.message : reasonFor(failure.error);
  const options = { cause: failure.error };
  return new TokenFailure(isRefused ? "other" : "down", `${at} could not be reached: ${reason}`, options);
}

/** Returns the strings of an array; undefined when the value is not an array. */
export function stringsOf(value: JsonValue | undefined): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : undefined;
}
