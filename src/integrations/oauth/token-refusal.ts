import { isJsonObject } from "../../json.ts";
import { clip } from "../clip.ts";
import { reasonFor } from "../connection-error.ts";
import { retryAfterMs } from "../retry-after.ts";
import { createScrubber, type Scrubber } from "../scrub.ts";
import { NoAnswer } from "./outbound-fetch.ts";
import { form } from "./secret-basic.ts";
import { TokenFailure } from "./token-failure.ts";

/** The sender of a token request, for messages. */
export interface TokenRequester {
  readonly title: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** Further secrets in the request, such as a code or a refresh token. */
  readonly sent?: readonly string[];
  /** Describes an error code; defaults to that of client credentials. */
  readonly meaning?: (code: string) => RefusalMeaning;
}

/** Whether an error code ends the authorization, and the remedy. */
export interface RefusalMeaning {
  readonly kind: "ended" | "refused";
  readonly advice: string;
}

/** Remedies for error codes of RFC 6749 §5.2. */
const ADVICE: Readonly<Record<string, string>> = {
  invalid_client:
    "The client's id or secret is wrong, expired or revoked: its owner can replace the secret with a new api_key.",
  unauthorized_client:
    "This client is not allowed to use client credentials: allow that grant at the vendor, or use another client.",
  unsupported_grant_type: "The server does not support client credentials: check the address of the token endpoint.",
  invalid_scope: "The client lacks the requested scopes: allow them at the vendor, or request others.",
};
const DEFAULT_ADVICE = "Check the client's id, its secret and its settings at the vendor.";

/** Converts a token endpoint's error answer to a failure with a remedy. */
export async function tokenRefusal(requester: TokenRequester, response: Response): Promise<TokenFailure> {
  const { status } = response;
  const scrubber = scrubberFor(requester);
  const { code, said } = wordsOf(await response.text(), scrubber);
  const start = `${endpointOf(requester)} answered ${status}${said}.`;
  const { kind, advice } = (requester.meaning ?? meaningOf)(code);
  // Some vendors send errors with status 200.
  if (kind === "ended") return new TokenFailure(kind, `${start} ${advice}`, { code });
  if (status === 429) {
    const waitMs = retryAfterMs(response.headers.get("retry-after") ?? undefined);
    const when = waitMs === undefined ? "in a minute" : `in ${Math.ceil(waitMs / 1_000)} seconds`;
    const options = waitMs === undefined ? {} : { retryAfterMs: waitMs };
    return new TokenFailure("busy", `${start} That is its rate limit: try again ${when}.`, options);
  }
  if (status >= 500) return new TokenFailure("down", `${start} The fault is on its side; try again later.`);
  if (status < 300 && code === "")
    return new TokenFailure("other", `${start} That is no token (RFC 6749 asks for 200).`);
  if (status >= 300 && status < 400)
    return new TokenFailure("other", `${start} Redirects are not followed: set the address that it leads to.`);
  return new TokenFailure(kind, `${start} ${advice}`, { code });
}

function meaningOf(code: string): RefusalMeaning {
  return { kind: "refused", advice: ADVICE[code] ?? DEFAULT_ADVICE };
}

/** Converts any other failure of a token request. A TokenFailure is returned unchanged. */
export function unusableAnswer(requester: TokenRequester, error: unknown): TokenFailure {
  if (error instanceof TokenFailure) return error;
  const endpoint = endpointOf(requester);
  if (!(error instanceof NoAnswer))
    return new TokenFailure("other", `${endpoint} answered without a bearer token (RFC 6749).`, {
      cause: error,
    });
  const { failure } = error;
  if (failure.kind === "timeout") return new TokenFailure("down", `${endpoint} did not answer in time.`);
  if (failure.kind === "too_large")
    return new TokenFailure("other", `${endpoint} answered with more than a token can be.`);
  // Messages of the outbound guard are public sentences.
  const isRefused = failure.error.name === "OutboundRefused";
  const reason = isRefused ? failure.error.message : reasonFor(failure.error);
  const options = { cause: failure.error };
  return new TokenFailure(isRefused ? "other" : "down", `${endpoint} could not be reached: ${reason}`, options);
}

function endpointOf({ title, tokenUrl }: TokenRequester): string {
  return `The token endpoint of ${title} at ${new URL(tokenUrl).host}`;
}

function wordsOf(text: string, scrubber: Scrubber): { readonly code: string; readonly said: string } {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return { code: "", said: "" };
  }
  if (!isJsonObject(body) || typeof body.error !== "string") return { code: "", said: "" };
  const description = typeof body.error_description === "string" ? `: ${body.error_description}` : "";
  const said = clip(scrubber.text(`${body.error}${description}`)).replace(/(?<![.\s])[.\s]+$/, "");
  return { code: body.error, said: ` with ${said}` };
}

/** Redacts secrets in every encoding in which they were sent. */
function scrubberFor({ clientId, clientSecret, sent = [] }: TokenRequester): Scrubber {
  const own = clientSecret === undefined ? [] : [clientSecret, form(clientSecret)];
  const pair = clientSecret === undefined ? [] : [`${form(clientId)}:${form(clientSecret)}`];
  return createScrubber({}, [], [...own, ...pair, ...sent, ...sent.map(form)]);
}
