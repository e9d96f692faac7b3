import type { Dispatcher } from "undici";
import type { RecordTokenIssue } from "../../identity/audit/token-issues.ts";
import type { ClientStore } from "../../identity/clients/clients.ts";
import type { OAuthGrantStore } from "../../identity/grants/grants.ts";
import type { Csrf } from "../pages/csrf.ts";
import type { BrowserSessions } from "../pages/login/browser-sessions.ts";
import { servePages } from "../pages/serve-pages.ts";
import { KEYS_CACHE_SECONDS, type SigningKeys } from "../../identity/keys/signing-keys.ts";
import type { TokenVerifier } from "../../identity/tokens/verifier.ts";
import { createAuthorizeRoutes } from "./consent/authorize.ts";
import { createClientAuthentication } from "./clients/client-authentication.ts";
import { createClientDirectory } from "./clients/client-directory.ts";
import { createReadClientRequest } from "./clients/client-request.ts";
import { createConsent } from "./consent/consent.ts";
import type { ListActingAccounts } from "../../identity/oauth/acting-account.ts";
import type { OwnConnections } from "../../identity/oauth/own-connections.ts";
import { createFailedAttempts } from "./clients/failed-attempts.ts";
import { answerJson } from "../http/answer.ts";
import type { HeaderFields, HttpExchange } from "../http/exchange.ts";
import { routeNotFound } from "../http/fault.ts";
import type { Log } from "../http/log.ts";
import type { Route, RouteHandler } from "../http/router.ts";
import { introspect } from "./tokens/introspect.ts";
import {
  authorizationServerMetadata,
  INTROSPECT_PATH,
  KEYS_PATH,
  METADATA_PATH,
  REGISTER_PATH,
  REVOKE_PATH,
  TOKEN_PATH,
} from "./metadata.ts";
import { createFailAsOAuth, NO_STORE } from "./oauth-error.ts";
import type { PayloadStore } from "../../identity/oauth/payload-store.ts";
import { createRecognizeToken } from "./tokens/presented-token.ts";
import type { AuthorizationProvider } from "./provider/provider.ts";
import type { RedirectRule } from "../../identity/clients/client-redirect-uri.ts";
import { createRegisterClient } from "./clients/register.ts";
import { revokeToken } from "./tokens/revoke-token.ts";
import { createIssueTokens } from "./tokens/issue-tokens.ts";

export interface OAuthServerDeps {
  /** `PUBLIC_URL` without a trailing slash. */
  readonly issuer: string;
  readonly pepper: Uint8Array;
  readonly clients: Pick<ClientStore, "findForToken">;
  readonly grants: OAuthGrantStore;
  readonly payloads: PayloadStore;
  readonly keys: SigningKeys;
  readonly verifier: TokenVerifier;
  readonly sessions: Pick<BrowserSessions, "read">;
  readonly csrf: Csrf;
  readonly connections: OwnConnections;
  /** The accounts that a person can act for. */
  readonly actingAccounts: ListActingAccounts;
  /** The guarded dispatcher, for fetching documents of clients. */
  readonly dispatcher: Dispatcher;
  /** Records token requests in the audit log. */
  readonly recordIssue: RecordTokenIssue;
  /** Revokes one access token on every replica. */
  readonly revokeAccessToken: (accountId: string, tokenId: string) => Promise<void>;
  /** The redirects allowed for dynamic registration; undefined if registration is off. */
  readonly registration: RedirectRule | undefined;
  /** Whether to trust `X-Forwarded-For` and `X-Forwarded-Proto`. */
  readonly trustProxy: boolean;
  readonly log: Log;
}

/** An endpoint for programs. Its result is sent as JSON, with status 200 by default. */
type Endpoint = (exchange: HttpExchange) => Promise<{ readonly status?: number; readonly body: unknown }>;

const ONE_HOUR = { "cache-control": "public, max-age=3600" };
const KEYS_CACHE = { "cache-control": `public, max-age=${KEYS_CACHE_SECONDS}` };

/**
 * Routes of the OAuth server. Endpoints for programs return JSON with errors of RFC 6749 §5.2, in the order of DESIGN
 * §6 «order of checks»; endpoints for browsers return pages.
 */
export function createOAuthRoutes(deps: OAuthServerDeps): readonly Route[] {
  const { issuer, trustProxy, grants, connections, log } = deps;
  const directory = createClientDirectory(deps);
  let loading: Promise<AuthorizationProvider> | undefined;

  /** The provider needs 25 MB and a fraction of a second to load, so the first request that needs it loads it. */
  function provider(): Promise<AuthorizationProvider> {
    loading ??= import("./provider/provider.ts").then(({ createAuthorizationProvider }) =>
      createAuthorizationProvider({ ...deps, directory }),
    );
    return loading;
  }

  const attempts = createFailedAttempts();
  const authentication = createClientAuthentication({ ...deps, directory, provider, attempts });
  const read = createReadClientRequest({ issuer, authentication, trustProxy });
  const issue = createIssueTokens({ issuer, provider, grants, recordIssue: deps.recordIssue, log });
  const recognize = createRecognizeToken(deps);
  const consent = createConsent({ issuer, grants, connections, accounts: deps.actingAccounts, directory });
  const rule = deps.registration;
  const register = rule && createRegisterClient({ directory, rule, trustProxy });

  const metadata = authorizationServerMetadata(issuer, { hasRegistration: register !== undefined });
  const fail = createFailAsOAuth(log);

  function endpoint(path: string, serve: Endpoint): Route {
    const post: RouteHandler = async (exchange) => {
      const { status = 200, body } = await serve(exchange);
      answerJson(exchange, status, body, NO_STORE);
    };
    return { path, methods: { POST: post }, fail, limit: "token" };
  }

  function document(path: string, read: () => unknown, headers: HeaderFields): Route {
    const get: RouteHandler = (exchange) => {
      answerJson(exchange, 200, read(), headers);
    };
    return { path, methods: { GET: get }, fail, limit: "address" };
  }

  return [
    endpoint(TOKEN_PATH, async (exchange) => ({ body: await issue(await read(exchange)) })),
    endpoint(INTROSPECT_PATH, async (exchange) => ({
      body: await introspect({ issuer, recognize }, await read(exchange)),
    })),
    endpoint(REVOKE_PATH, async (exchange) => {
      await revokeToken({ ...deps, recognize }, await read(exchange));
      return { body: {} };
    }),
    ...(register === undefined
      ? []
      : [endpoint(REGISTER_PATH, async (exchange) => ({ status: 201, body: await register(exchange) }))]),
    document(KEYS_PATH, () => deps.keys.publicKeys(), KEYS_CACHE),
    document(METADATA_PATH, () => metadata, ONE_HOUR),
    ...servePages(createAuthorizeRoutes({ ...deps, consent, provider }), log, "token"),
    { path: "/oauth2/*", methods: nothingThere, fail, limit: "token" },
  ];
}

function nothingThere(): never {
  throw routeNotFound();
}
