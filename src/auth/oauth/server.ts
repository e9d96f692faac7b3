import { DomainError } from "../../domain-error.ts";
import type { ClientStore } from "../clients.ts";
import { KEYS_CACHE_SECONDS, type SigningKeys } from "../signing-keys.ts";
import { authenticateClient, type ClientCredentials, parseBasic } from "./client-authentication.ts";
import { createFailedAttempts } from "./failed-attempts.ts";
import { type HttpRequest, type HttpResponse, readForm, sendJson, singleHeader } from "./http-exchange.ts";
import { authorizationServerMetadata, KEYS_PATH, METADATA_PATH, TOKEN_PATH } from "./metadata.ts";
import { invalidClient, invalidRequest, OAuthError } from "./oauth-error.ts";
import { callerAddress, isConfidential } from "./peer.ts";
import type { Grant, IssueToken, TokenResponse } from "./provider.ts";
import { parseTokenRequest } from "./token-request.ts";

/** What the OAuth server is made of. */
export interface OAuthServerDeps {
  /** `PUBLIC_URL`, without a slash at its end. */
  readonly issuer: string;
  readonly pepper: Uint8Array;
  readonly clients: Pick<ClientStore, "findForToken">;
  readonly keys: SigningKeys;
  /** Whether `X-Forwarded-For` and `X-Forwarded-Proto` come from a proxy of ours. */
  readonly trustProxy: boolean;
  /** Gets the causes of answers 500 and 503. */
  readonly onError?: (error: unknown) => void;
}

/** The OAuth 2.0 authorization server behind a plain Node handler. */
export interface OAuthServer {
  /** Answers a request for one of its paths; false, with nothing touched, for any other path. */
  handle(request: HttpRequest, response: HttpResponse): boolean;
}

const NO_STORE = { "cache-control": "no-store", pragma: "no-cache" };
const ONE_HOUR = { "cache-control": "public, max-age=3600" };
const KEYS_CACHE = { "cache-control": `public, max-age=${KEYS_CACHE_SECONDS}` };
const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;

function toOAuthError(error: unknown): OAuthError {
  if (error instanceof OAuthError) return error;
  if (error instanceof DomainError && error.kind === "unavailable") {
    const headers = { "retry-after": String(error.retryAfterSeconds ?? 1) };
    return new OAuthError(503, "temporarily_unavailable", error.message, headers);
  }
  return new OAuthError(500, "server_error", "The token could not be issued.");
}

/** The OAuth server: every refusal is JSON as in RFC 6749 §5.2, in the order of DESIGN §6 «order of checks». */
export function createOAuthServer(deps: OAuthServerDeps): OAuthServer {
  const attempts = createFailedAttempts();
  let provider: { readonly kid: string; readonly issue: Promise<IssueToken> } | undefined;
  const documents = new Map<string, () => unknown>([
    [KEYS_PATH, () => deps.keys.publicKeys()],
    [METADATA_PATH, () => authorizationServerMetadata(deps.issuer)],
  ]);

  /** The provider takes 25 MB and a part of a second to load, so the first token loads it; another key needs another one. */
  async function issueToken(grant: Grant): Promise<TokenResponse> {
    const kid = deps.keys.current("access_token").id;
    if (provider?.kid !== kid) {
      const issue = import("./provider.ts").then(({ createIssueToken }) => createIssueToken(deps));
      provider = { kid, issue };
    }
    return (await provider.issue)(grant);
  }

  async function authenticate(request: HttpRequest, credentials: ClientCredentials) {
    const address = callerAddress(request, deps.trustProxy);
    await attempts.check(address, credentials.clientId);
    try {
      return await authenticateClient(deps, credentials);
    } catch (error) {
      if (error instanceof OAuthError) await attempts.count(address, credentials.clientId);
      throw error;
    }
  }

  async function grantToken(request: HttpRequest): Promise<TokenResponse> {
    if (!isConfidential(request, deps.trustProxy))
      throw invalidRequest("Token requests are accepted over HTTPS alone.");
    const credentials = parseBasic(singleHeader(request, "authorization"));
    if (credentials === undefined) throw invalidClient(deps.issuer, "The client authenticates with HTTP Basic.");
    const client = await authenticate(request, credentials);
    if (!FORM.test(singleHeader(request, "content-type") ?? "")) {
      throw new OAuthError(415, "invalid_request", "The body is a form: application/x-www-form-urlencoded.");
    }
    return issueToken({ client, ...parseTokenRequest(client, deps.issuer, await readForm(request)) });
  }

  function refuse(request: HttpRequest, response: HttpResponse, error: unknown): void {
    const refusal = toOAuthError(error);
    if (refusal.status >= 500) deps.onError?.(error);
    // What is left of the body is read away, so that the connection can carry the next request.
    request.resume();
    const body = { error: refusal.code, error_description: refusal.message };
    sendJson(response, refusal.status, body, { ...NO_STORE, ...refusal.headers });
  }

  async function answerToken(request: HttpRequest, response: HttpResponse): Promise<void> {
    try {
      sendJson(response, 200, await grantToken(request), NO_STORE);
    } catch (error) {
      const hasLeft = request.destroyed && !request.complete;
      if (!hasLeft) refuse(request, response, error);
    }
  }

  return {
    handle(request, response) {
      const path = (request.url ?? "").split("?", 1)[0] ?? "";
      const document = documents.get(path);
      if (document === undefined && path !== "/oauth2" && !path.startsWith("/oauth2/")) return false;
      if (document !== undefined) {
        if (request.method === "GET" || request.method === "HEAD")
          sendJson(response, 200, document(), path === KEYS_PATH ? KEYS_CACHE : ONE_HOUR);
        else
          refuse(
            request,
            response,
            new OAuthError(405, "invalid_request", "The method is GET.", { allow: "GET, HEAD" }),
          );
      } else if (path !== TOKEN_PATH) {
        refuse(request, response, new OAuthError(404, "invalid_request", "There is nothing at this path."));
      } else if (request.method !== "POST") {
        refuse(request, response, new OAuthError(405, "invalid_request", "The method is POST.", { allow: "POST" }));
      } else {
        void answerToken(request, response);
      }
      return true;
    },
  };
}
