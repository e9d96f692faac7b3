import type { Dispatcher } from "undici";
import { DomainError } from "../../domain-error.ts";
import type { RecordTokenIssue } from "../../identity/audit/token-issues.ts";
import type { ClientStore } from "../../identity/clients.ts";
import type { GrantStore } from "../../identity/grants.ts";
import type { Csrf } from "../pages/csrf.ts";
import type { LoginSessions } from "../../identity/login/login-sessions.ts";
import { createPageServer } from "../pages/page-routes.ts";
import { KEYS_CACHE_SECONDS, type SigningKeys } from "../../identity/signing-keys.ts";
import type { TokenVerifier } from "../../identity/verifier.ts";
import { createAuthorizeRoutes } from "./authorize.ts";
import { createClientAuthentication } from "./client-authentication.ts";
import { createClientDirectory } from "./client-directory.ts";
import { createReadClientRequest } from "./client-request.ts";
import { createConsent, type OwnConnections } from "./consent.ts";
import { createFailedAttempts } from "./failed-attempts.ts";
import { type HttpRequest, type HttpResponse, sendJson } from "../http/node-exchange.ts";
import { introspect } from "./introspect.ts";
import {
  authorizationServerMetadata,
  AUTHORIZE_PATH,
  CONSENT_PATH,
  INTROSPECT_PATH,
  KEYS_PATH,
  METADATA_PATH,
  REGISTER_PATH,
  REVOKE_PATH,
  TOKEN_PATH,
} from "./metadata.ts";
import { OAuthError } from "./oauth-error.ts";
import type { PayloadStore } from "../../identity/oauth/payload-store.ts";
import { createRecogniseToken } from "./presented-token.ts";
import type { AuthorizationProvider } from "./provider.ts";
import type { RedirectRule } from "../../identity/client-redirect-uri.ts";
import { createRegisterClient } from "./register.ts";
import { revokeToken } from "./revoke-token.ts";
import { createIssueTokens } from "./issue-tokens.ts";

/** What the OAuth server is made of. */
export interface OAuthServerDeps {
  /** `PUBLIC_URL`, without a slash at its end. */
  readonly issuer: string;
  readonly pepper: Uint8Array;
  readonly clients: Pick<ClientStore, "findForToken">;
  readonly grants: GrantStore;
  readonly payloads: PayloadStore;
  readonly keys: SigningKeys;
  readonly verifier: TokenVerifier;
  readonly sessions: Pick<LoginSessions, "read">;
  readonly csrf: Csrf;
  readonly connections: OwnConnections;
  /** The only way out, for what clients publish about themselves. */
  readonly dispatcher: Dispatcher;
  /** Writes down who gets tokens from where. */
  readonly recordIssue: RecordTokenIssue;
  /** Ends one access token, on every replica. */
  readonly revokeAccessToken: (accountId: string, tokenId: string) => Promise<void>;
  /** For whose redirects clients may register themselves; undefined for nobody's. */
  readonly registration: RedirectRule | undefined;
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

/** An endpoint that programs post to; what it gives is answered as JSON, with 200 unless it says otherwise. */
type Endpoint = (request: HttpRequest) => Promise<{ readonly status?: number; readonly body: unknown }>;

const NO_STORE = { "cache-control": "no-store", pragma: "no-cache" };
const ONE_HOUR = { "cache-control": "public, max-age=3600" };
const KEYS_CACHE = { "cache-control": `public, max-age=${KEYS_CACHE_SECONDS}` };

function toOAuthError(error: unknown): OAuthError {
  if (error instanceof OAuthError) return error;
  if (error instanceof DomainError && error.kind === "unavailable") {
    const headers = { "retry-after": String(error.retryAfterSeconds ?? 1) };
    return new OAuthError(503, "temporarily_unavailable", error.message, headers);
  }
  return new OAuthError(500, "server_error", "The request failed on our side.");
}

/**
 * The OAuth server. What programs ask is answered in JSON, every refusal as in RFC 6749 §5.2 and in the order of DESIGN §6
 * «order of checks»; what browsers ask, with pages.
 */
export function createOAuthServer(deps: OAuthServerDeps): OAuthServer {
  const { issuer, trustProxy, grants, connections } = deps;
  const onError = deps.onError ?? ((): void => undefined);
  const directory = createClientDirectory(deps);
  let loading: Promise<AuthorizationProvider> | undefined;

  /** The provider takes 25 MB and a part of a second to load, so the first request that needs it loads it. */
  function provider(): Promise<AuthorizationProvider> {
    loading ??= import("./provider.ts").then(({ createAuthorizationProvider }) =>
      createAuthorizationProvider({ ...deps, directory }),
    );
    return loading;
  }

  const attempts = createFailedAttempts();
  const authentication = createClientAuthentication({ ...deps, directory, provider, attempts });
  const read = createReadClientRequest({ issuer, authentication, trustProxy });
  const issue = createIssueTokens({ issuer, provider, grants, recordIssue: deps.recordIssue, onError });
  const recognise = createRecogniseToken(deps);
  const consent = createConsent({ issuer, grants, connections, directory });
  const rule = deps.registration;
  const register = rule && createRegisterClient({ directory, rule, trustProxy });

  const pages = createPageServer({ routes: createAuthorizeRoutes({ ...deps, consent, provider }), onError });
  const endpoints = new Map<string, Endpoint>([
    [TOKEN_PATH, async (request) => ({ body: await issue(await read(request)) })],
    [INTROSPECT_PATH, async (request) => ({ body: await introspect({ issuer, recognise }, await read(request)) })],
    [
      REVOKE_PATH,
      async (request) => {
        await revokeToken({ ...deps, recognise }, await read(request));
        return { body: {} };
      },
    ],
  ]);
  if (register !== undefined) {
    endpoints.set(REGISTER_PATH, async (request) => ({ status: 201, body: await register(request) }));
  }
  const metadata = authorizationServerMetadata(issuer, { hasRegistration: register !== undefined });
  const documents = new Map<string, { readonly read: () => unknown; readonly cache: Readonly<Record<string, string>> }>(
    [
      [KEYS_PATH, { read: () => deps.keys.publicKeys(), cache: KEYS_CACHE }],
      [METADATA_PATH, { read: () => metadata, cache: ONE_HOUR }],
    ],
  );

  function refuse(request: HttpRequest, response: HttpResponse, error: unknown): void {
    const refusal = toOAuthError(error);
    if (refusal.status >= 500) onError(error);
    // What is left of the body is read away, so that the connection can carry the next request.
    request.resume();
    const body = { error: refusal.code, error_description: refusal.message };
    sendJson(response, refusal.status, body, { ...NO_STORE, ...refusal.headers });
  }

  function refuseMethod(request: HttpRequest, response: HttpResponse, method: string, allow: string): void {
    refuse(request, response, new OAuthError(405, "invalid_request", `The method is ${method}.`, { allow }));
  }

  async function answer(endpoint: Endpoint, request: HttpRequest, response: HttpResponse): Promise<void> {
    try {
      const { status = 200, body } = await endpoint(request);
      sendJson(response, status, body, NO_STORE);
    } catch (error) {
      const hasLeft = request.destroyed && !request.complete;
      if (!hasLeft) refuse(request, response, error);
    }
  }

  return {
    handle(request, response) {
      const path = (request.url ?? "").split("?", 1)[0] ?? "";
      const document = documents.get(path);
      const endpoint = endpoints.get(path);
      if (document !== undefined) {
        const isRead = request.method === "GET" || request.method === "HEAD";
        if (isRead) sendJson(response, 200, document.read(), document.cache);
        else refuseMethod(request, response, "GET", "GET, HEAD");
      } else if (endpoint !== undefined) {
        if (request.method === "POST") void answer(endpoint, request, response);
        else refuseMethod(request, response, "POST", "POST");
      } else if (path === AUTHORIZE_PATH || path === CONSENT_PATH) {
        void pages.handle(request, response);
      } else if (path === "/oauth2" || path.startsWith("/oauth2/")) {
        refuse(request, response, new OAuthError(404, "invalid_request", "There is nothing at this path."));
      } else {
        return false;
      }
      return true;
    },
  };
}
