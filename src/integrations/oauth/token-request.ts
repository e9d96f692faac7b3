import {
  allowInsecureRequests,
  type AuthorizationServer as ServerMetadata,
  type Client,
  type ClientAuth,
  ClientSecretPost,
  customFetch,
  None,
  type TokenEndpointResponse,
} from "oauth4webapi";
import type { Dispatcher } from "undici";
import { isJsonObject } from "../../json.ts";
import type { ExchangeLimits } from "../upstream-exchange.ts";
import type { AuthorizationTerms, IssuedTokens, UpstreamClient } from "../authorization.ts";
import { createFetch } from "./outbound-fetch.ts";
import { secretBasic } from "./secret-basic.ts";
import { type TokenRequester, type RefusalMeaning, tokenRefusal, unusableAnswer } from "./token-refusal.ts";

const LIMITS: ExchangeLimits = { maxBytes: 256 * 1024, timeoutMs: 10_000 };
/** Characters that a header or form can carry. RFC 6750 allows fewer, but some servers use more. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

/** Error codes that end an authorization: RFC 6749 §5.2, and codes of vendors. */
const ENDED = new Set([
  ...["invalid_grant", "invalid_client", "unauthorized_client"],
  ...["bad_refresh_token", "invalid_refresh_token", "incorrect_client_credentials", "bad_verification_code"],
]);

export interface TokenEndpointRequest {
  readonly server: ServerMetadata;
  readonly client: Client;
  readonly authenticate: ClientAuth;
  readonly options: ReturnType<typeof optionsFor>;
}

/** The outbound guard decides which hosts allow plain http. */
export function optionsFor(dispatcher: Dispatcher, signal: AbortSignal) {
  return { [customFetch]: createFetch(dispatcher, LIMITS), [allowInsecureRequests]: true, signal } as const;
}

export function tokenEndpointRequest(
  { server, client }: AuthorizationTerms,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): TokenEndpointRequest {
  return {
    server: {
      issuer: server.issuer,
      authorization_endpoint: server.authorizationEndpoint,
      token_endpoint: server.tokenEndpoint,
      ...(server.revocationEndpoint !== undefined && { revocation_endpoint: server.revocationEndpoint }),
      authorization_response_iss_parameter_supported: server.sendsIssuer,
    },
    client: { client_id: client.clientId },
    authenticate: authenticationOf(client),
    options: optionsFor(dispatcher, signal),
  };
}

function authenticationOf({ authentication, clientSecret }: UpstreamClient): ClientAuth {
  if (authentication === "none" || clientSecret === undefined) return None();
  return authentication === "client_secret_post" ? ClientSecretPost(clientSecret) : secretBasic(clientSecret);
}

/**
 * Sends a token request and reads the tokens. `sent` are the secrets in the request. Throws TokenFailure, or the
 * signal's reason.
 */
export async function requestTokens(
  terms: AuthorizationTerms,
  sent: readonly string[],
  signal: AbortSignal,
  send: () => Promise<Response>,
  read: (response: Response) => Promise<TokenEndpointResponse>,
): Promise<IssuedTokens> {
  const requester = requesterOf(terms, sent);
  try {
    const response = await send();
    const text = await response.text();
    if (response.status !== 200 || isRefusal(text)) throw await tokenRefusal(requester, withBody(response, text));
    const { access_token, refresh_token, expires_in, scope } = await read(withBody(response, withoutIdentity(text)));
    for (const token of [access_token, refresh_token ?? access_token])
      if (!TOKEN.test(token)) throw new Error("the token cannot be sent");
    return { accessToken: access_token, refreshToken: refresh_token, lifetimeSeconds: expires_in, scope };
  } catch (error) {
    signal.throwIfAborted();
    throw unusableAnswer(requester, error);
  }
}

export function requesterOf({ title, server, client }: AuthorizationTerms, sent: readonly string[]): TokenRequester {
  return {
    title,
    tokenUrl: server.tokenEndpoint,
    clientId: client.clientId,
    clientSecret: client.clientSecret,
    sent,
    meaning: (code) => meaningOf(code, client),
  };
}

function meaningOf(code: string, { source }: UpstreamClient): RefusalMeaning {
  const kind = ENDED.has(code) ? "ended" : "refused";
  if (code === "invalid_client" || code === "incorrect_client_credentials")
    return {
      kind,
      advice:
        source === "configured"
          ? "The configured client id or secret is wrong, expired or revoked there: correct it, then authorize the connection again."
          : "Our client is not known there (any longer): authorize the connection again.",
    };
  if (code === "unauthorized_client")
    return { kind, advice: "The client may not use this grant there: allow it, then authorize the connection again." };
  if (kind === "ended")
    return {
      kind,
      advice: "The authorization was revoked, has expired or was used already: authorize the connection again.",
    };
  if (code === "invalid_scope")
    return { kind, advice: "The scopes that are asked for are not given there: ask for others with oauth_scope." };
  if (code === "invalid_target")
    return { kind, advice: "It gives no tokens for this address: check the url of the connection." };
  return { kind, advice: "Try again; if it fails again, report it to the server's operator." };
}

function isRefusal(text: string): boolean {
  const body = parsed(text);
  return isJsonObject(body) && typeof body.error === "string" && body.access_token === undefined;
}

/** ID tokens are ignored, since only access matters here. */
function withoutIdentity(text: string): string {
  const body = parsed(text);
  if (!isJsonObject(body) || body.id_token === undefined) return text;
  return JSON.stringify({ ...body, id_token: undefined });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function withBody({ status, headers }: Response, text: string): Response {
  return new Response(text === "" ? null : text, { status, headers });
}
