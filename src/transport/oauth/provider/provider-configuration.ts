import type { Client, Configuration, KoaContextWithOIDC } from "oidc-provider";
import { AccessDenied, InvalidGrant, InvalidScope, InvalidTarget } from "oidc-provider/lib/helpers/errors.js";
import { Check, Prompt } from "oidc-provider/lib/helpers/interaction_policy/index.js";
import { Provider } from "oidc-provider/lib/provider.js";
import type { Dispatcher } from "undici";
import { isScope, SCOPES } from "../../../identity/scopes.ts";
import type { SigningKeys } from "../../../identity/keys/signing-keys.ts";
import { type AdapterDeps, createAdapter } from "./adapter.ts";
import { claimsOf } from "../tokens/claims.ts";
import { createDocumentFetch } from "../clients/client-document.ts";
import { isDocumentAddress } from "../clients/client-directory.ts";
import { CLIENT_SIGNING_ALGORITHMS } from "../clients/client-metadata.ts";
import type { AskedAuthorization, AuthorizationContext } from "./request-context.ts";
import { AUTHORIZE_PATH, KEYS_PATH, TOKEN_PATH } from "../metadata.ts";
import { parseResource } from "../resource.ts";

/** Lifetimes in seconds (SPEC «Limits»). Use of a refresh token restarts its lifetime. */
export const LIFETIME_SECONDS = { accessToken: 3_600, code: 60, refreshToken: 30 * 86_400 } as const;

/** The scopes of a request that names none: using tools. */
const DEFAULT_SCOPES = ["mcp.read", "mcp.write"];

export interface ProviderDeps extends AdapterDeps {
  readonly issuer: string;
  readonly keys: SigningKeys;
  readonly dispatcher: Dispatcher;
}

/** The scopes of an authorization request: the named ones, if the client may have them, or the default. */
function checkScopes(ctx: KoaContextWithOIDC, client: Client): void {
  const allowed = (client.scope ?? "").split(" ");
  const { params } = ctx.oidc;
  if (params === undefined) return;
  const words = typeof params["scope"] === "string" ? params["scope"].split(" ") : [];
  const wrong = words.find((word) => !isScope(word) || !allowed.includes(word));
  if (wrong !== undefined) throw new InvalidScope("requested scope is not allowed", wrong);
  if (words.length > 0) return;
  const fallback = DEFAULT_SCOPES.filter((word) => allowed.includes(word));
  params["scope"] = (fallback.length > 0 ? fallback : allowed).join(" ");
}

function askedOf(ctx: KoaContextWithOIDC, mustAsk: boolean): AskedAuthorization {
  const { client, params } = ctx.oidc;
  const [redirectUri, scope, resource] = [params?.["redirect_uri"], params?.["scope"], params?.["resource"]];
  if (
    client === undefined ||
    typeof redirectUri !== "string" ||
    typeof scope !== "string" ||
    typeof resource !== "string"
  )
    throw new Error("the authorization request was not checked");
  const { clientId, clientName, tokenEndpointAuthMethod } = client;
  const isRegistered = clientId.startsWith("dcr_");
  return {
    client: {
      clientId,
      name: clientName,
      isConfidential: tokenEndpointAuthMethod !== "none",
      source: isDocumentAddress(clientId) ? "document" : isRegistered ? "registered" : "own",
    },
    redirectUri,
    scopes: scope.split(" "),
    resource,
    mustAsk,
  };
}

/** Requests a login or a decision if one is missing; the caller then shows a page. */
function createPolicy(contextOf: (ctx: KoaContextWithOIDC) => AuthorizationContext): Prompt[] {
  const login = new Check("no_session", "the person is not logged in", (ctx) => {
    const context = contextOf(ctx);
    if (context.session !== undefined && !context.mustLogIn) return Check.NO_NEED_TO_PROMPT;
    context.prompt = "login";
    return Check.REQUEST_PROMPT;
  });
  const consent = new Check("no_decision", "the person has not decided yet", async (ctx) => {
    const context = contextOf(ctx);
    if (context.decision?.kind === "deny") throw new AccessDenied("the person denied the request");
    if (context.decision?.kind === "grant") return Check.NO_NEED_TO_PROMPT;
    context.prompt = "consent";
    return Check.REQUEST_PROMPT;
  });
  return [new Prompt({ name: "login", requestable: true }, login), new Prompt({ name: "consent" }, consent)];
}

/** Creates the provider's configuration. A new signing key needs a new one. */
export function configureProvider(deps: ProviderDeps): Configuration {
  const { issuer, keys } = deps;
  const { id: kid, privateJwk } = keys.current("access_token");

  function authorizationContext(): AuthorizationContext {
    const context = deps.context();
    if (context?.kind !== "authorize") throw new Error("there is no authorization request");
    return context;
  }

  function checkTarget(ctx: KoaContextWithOIDC, resource: string, client: Client): void {
    const context = deps.context();
    switch (context?.kind) {
      case "authorize":
        if (Array.isArray(ctx.oidc.params?.["resource"]) || parseResource(issuer, resource) === undefined)
          throw new InvalidTarget();
        checkScopes(ctx, client);
        return;
      case "token":
        if ((context.request?.audience ?? context.grant?.resource) !== resource) throw new InvalidTarget();
        return;
      default:
        throw new InvalidTarget();
    }
  }

  return {
    adapter: (model) => createAdapter(model, deps),
    jwks: { keys: [privateJwk] },
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    clientAuthMethods: ["client_secret_basic", "private_key_jwt", "none"],
    enabledJWA: { clientAuthSigningAlgValues: [...CLIENT_SIGNING_ALGORITHMS] },
    fetch: createDocumentFetch(deps.dispatcher),
    fetchResponseBodyLimits: { "client_id metadata document": 64 * 1_024, jwks_uri: 64 * 1_024 },
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    loadExistingGrant: async (ctx) => {
      const context = authorizationContext();
      if (context.session === undefined || context.mustLogIn) return undefined;
      context.asked = askedOf(ctx, context.mustAsk);
      context.decision = await context.decide(context.asked, context.session);
      if (context.decision.kind !== "grant") return undefined;
      const { clientId } = context.asked.client;
      const grant = new ctx.oidc.provider.Grant({ accountId: context.session.accountId, clientId });
      grant.jti = context.decision.grantId;
      grant.addResourceScope(context.asked.resource, [...context.decision.scopes]);
      return grant;
    },
    interactions: { url: () => `${issuer}/`, policy: createPolicy(authorizationContext) },
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed("refresh_token"),
    rotateRefreshToken: true,
    revokeGrantPolicy: () => true,
    expiresWithSession: () => false,
    allowOmittingSingleRegisteredRedirectUri: false,
    pkce: { required: () => true },
    renderError: (ctx, out) => {
      ctx.body = out;
    },
    responseTypes: ["code"],
    routes: { authorization: AUTHORIZE_PATH, token: TOKEN_PATH, jwks: KEYS_PATH },
    scopes: [...SCOPES],
    ttl: {
      AccessToken: LIFETIME_SECONDS.accessToken,
      AuthorizationCode: LIFETIME_SECONDS.code,
      ClientCredentials: LIFETIME_SECONDS.accessToken,
      Grant: LIFETIME_SECONDS.refreshToken,
      Interaction: LIFETIME_SECONDS.code,
      RefreshToken: LIFETIME_SECONDS.refreshToken,
      Session: LIFETIME_SECONDS.code,
    },
    features: {
      claimsParameter: { enabled: false },
      clientCredentials: { enabled: true },
      clientIdMetadataDocument: {
        enabled: true,
        ack: "draft-02",
        // Anonymous requests trigger no fetch: somebody is logged in, or has approved the client before.
        allowFetch: async (_ctx, clientId) => {
          const context = deps.context();
          return (context?.kind === "authorize" && context.session !== undefined) || deps.grants.hasClient(clientId);
        },
      },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      requestObjects: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => issuer,
        getResourceServerInfo: (ctx, resource, client) => {
          checkTarget(ctx, resource, client);
          return {
            scope: SCOPES.join(" "),
            audience: resource,
            accessTokenFormat: "jwt",
            accessTokenTTL: LIFETIME_SECONDS.accessToken,
            jwt: { sign: { alg: "ES256", kid } },
          };
        },
      },
    },
    formats: {
      customizers: {
        jwt: (_ctx, token, parts) => {
          const context = deps.context();
          if (context?.kind !== "token") throw new InvalidGrant("there is no grant");
          parts.payload = claimsOf(context, issuer, token, parts.payload);
        },
      },
    },
  };
}

/** The request that the provider is handling. */
export function currentRequest(): object | undefined {
  return Provider.ctx?.req;
}
