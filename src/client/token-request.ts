import { DEFAULT_RETRIES, pause, type RetryPolicy, waitAfter } from "./retry-policy.ts";
import type { Send } from "./send.ts";
import { TokenError } from "./token-error.ts";

/** The parameters of a token request. */
export interface TokenRequest {
  /** The address of the service, such as `https://patchbay.example.com`. */
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The scopes, separated by spaces. Default: all scopes of the client. */
  readonly scope?: string;
  /** Sends a request. Default: `fetch`. */
  readonly send?: Send;
  /** The retries if the service does not respond or asks to wait. */
  readonly retries?: RetryPolicy;
}

/** An issued token. */
export interface IssuedToken {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
}

/** Requests a token (RFC 6749, 4.4). Issuing a token twice does no harm, so temporary failures are retried. */
export async function requestToken(request: TokenRequest): Promise<IssuedToken> {
  const { send = (each: Request) => fetch(each), retries = DEFAULT_RETRIES } = request;
  for (let attempt = 1; ; attempt++) {
    const outcome = await send(toRequest(request)).catch((error: unknown) => ({ error }));
    if (outcome instanceof Response && outcome.ok) return readToken(await outcome.json());
    const retryAfter = outcome instanceof Response ? outcome.headers.get("retry-after") : null;
    const isPassing = !(outcome instanceof Response) || outcome.status === 429 || outcome.status >= 502;
    const waitMs = isPassing ? waitAfter(retries, attempt, retryAfter) : undefined;
    if (waitMs === undefined) {
      if (outcome instanceof Response) throw await toTokenError(outcome);
      throw outcome.error;
    }
    await pause(waitMs, new AbortController().signal);
  }
}

function toRequest({ baseUrl, clientId, clientSecret, scope }: TokenRequest): Request {
  // Both parts are form-encoded before they are joined (RFC 6749, 2.3.1).
  const credentials = btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`);
  return new Request(`${baseUrl.replace(/(?<!\/)\/+$/, "")}/oauth2/token`, {
    method: "POST",
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ grant_type: "client_credentials", ...(scope !== undefined && { scope }) }),
  });
}

function readToken(answer: unknown): IssuedToken {
  if (
    typeof answer === "object" &&
    answer !== null &&
    "access_token" in answer &&
    typeof answer.access_token === "string" &&
    "expires_in" in answer &&
    typeof answer.expires_in === "number"
  )
    return { accessToken: answer.access_token, expiresInSeconds: answer.expires_in };
  throw new TokenError("invalid_response", "The token endpoint answered without a token.", 200);
}

async function toTokenError(answer: Response): Promise<TokenError> {
  const body: unknown = await answer.json().catch(() => undefined);
  const word = (name: "error" | "error_description"): string | undefined => {
    if (typeof body !== "object" || body === null || !(name in body)) return undefined;
    const value: unknown = Reflect.get(body, name);
    return typeof value === "string" ? value : undefined;
  };
  const text = word("error_description") ?? `The token endpoint answered ${answer.status}.`;
  return new TokenError(word("error") ?? "server_error", text, answer.status);
}
