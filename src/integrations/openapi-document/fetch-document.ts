import type { Dispatcher } from "undici";
import { OutboundRefused } from "../outbound-refused.ts";
import { decompress } from "../decompress.ts";
import { sendToUpstream, type ExchangeFailure } from "../upstream-exchange.ts";
import { DocumentFailure } from "./document-failure.ts";

export type FetchedDocument =
  { readonly text: string; readonly digest: string; readonly etag: string | undefined } | "unchanged";

const LIMITS = { maxBytes: 32 * 1024 * 1024, timeoutMs: 25_000 };

/** Fetches a document without credentials. `etag` makes the request conditional. Throws DocumentFailure. */
export async function fetchDocument(
  dispatcher: Dispatcher,
  address: string,
  etag: string | undefined,
  signal: AbortSignal,
  limits = LIMITS,
): Promise<FetchedDocument> {
  const url = new URL(address);
  const request = {
    method: "GET",
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    headers: {
      accept: "application/json, application/yaml;q=0.9, text/yaml;q=0.9, */*;q=0.5",
      "accept-encoding": "gzip, br",
      "user-agent": "Patchbay",
      ...(etag === undefined ? {} : { "if-none-match": etag }),
    },
    body: undefined,
  };
  const outcome = await sendToUpstream(dispatcher, request, limits, signal);
  if ("failure" in outcome) throw failureOf(outcome.failure, limits);
  const { status, headers, body } = outcome.answer;
  if (status === 304 && etag !== undefined) return "unchanged";
  if (status >= 300 && status < 400)
    throw new DocumentFailure("unusable", "spec_url answers with a redirect; use the address that it leads to.");
  if (status === 429 || status >= 500)
    throw new DocumentFailure("unreachable", `spec_url answers ${status}; it is asked again later.`);
  if (status !== 200)
    throw new DocumentFailure("unusable", `spec_url answers ${status}; the document must be readable without a key.`);
  const plain = await decompress(body, headers["content-encoding"] ?? "identity", limits.maxBytes);
  if (plain === "too_large") throw failureOf({ kind: "too_large" }, limits);
  if (plain === "not_readable")
    throw new DocumentFailure("unusable", "spec_url answers in a compression that cannot be read.");
  // Off the main thread, because hashing 32 MiB takes a quarter of a second.
  const digest = Buffer.from(await crypto.subtle.digest("SHA-256", new Uint8Array(plain))).toString("hex");
  return { text: plain.toString("utf8"), digest, etag: headers.etag };
}

function failureOf(failure: ExchangeFailure, limits: typeof LIMITS): DocumentFailure {
  if (failure.kind === "too_large")
    return new DocumentFailure("unusable", `spec_url answers more than ${limits.maxBytes / 1024 / 1024} MiB.`);
  if (failure.kind === "timeout")
    return new DocumentFailure("unreachable", `spec_url did not answer within ${limits.timeoutMs / 1000} seconds.`);
  if (failure.error instanceof OutboundRefused)
    return new DocumentFailure("unusable", `spec_url: ${failure.error.message}`, failure.error);
  return new DocumentFailure("unreachable", "spec_url cannot be reached.", failure.error);
}
