import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import type { Dispatcher } from "undici";
import type {
  AuthorizationProof,
  AuthorizationTerms,
  UpstreamClient,
} from "../../../src/integrations/authorization.ts";
import { CALLBACK_PATH, callbackPathOf } from "../../../src/integrations/oauth/client-document.ts";
import { authorizationRequest } from "../../../src/integrations/oauth/authorization-request.ts";
import { redeemCode } from "../../../src/integrations/oauth/redeem-code.ts";
import type { IssuedTokens } from "../../../src/integrations/authorization.ts";
import type { Target } from "../../../src/integrations/target.ts";
import { mcpAuthorization } from "../../../src/integrations/mcp/owner-authorization.ts";
import type { OwnerAuthorization } from "../../../src/integrations/authorization.ts";
import { TokenFailure } from "../../../src/integrations/oauth/token-failure.ts";
import type { UpstreamClients } from "../../../src/integrations/oauth/upstream-clients.ts";
import type { JsonObject } from "../../../src/json.ts";
import { checkDestination } from "../../../src/outbound/check-destination.ts";
import { createGuardedDispatcher } from "../../../src/outbound/guarded-dispatcher.ts";
import { type OAuthUpstream, startOAuthUpstream } from "../../support/oauth-upstream.ts";
import type { VendorOptions } from "../../support/vendor.ts";

/** The public URL in these tests. Nothing listens there. */
export const PUBLIC_URL = "http://127.0.0.1:1";
/** The redirect URI of clients that the operator registered. */
export const REDIRECT_URI = `${PUBLIC_URL}${CALLBACK_PATH}`;

/** A client that is registered at the vendor. */
export const STATIC_CLIENT: UpstreamClient = {
  clientId: "patchbay",
  clientSecret: "s3cr/et+of%the:client&=0123456789",
  authentication: "client_secret_basic",
  source: "configured",
};

/** A vendor with its MCP server, and a dispatcher that reaches both. */
export interface Subject {
  readonly upstream: OAuthUpstream;
  readonly dispatcher: Dispatcher;
}

/** Starts a vendor with its MCP server, and a guarded dispatcher that reaches both, for the running test. */
export async function startSubject(options: VendorOptions = {}): Promise<Subject> {
  const upstream = await startOAuthUpstream(options);
  const issuers = [upstream.vendor.issuer, new URL(upstream.url).origin];
  await upstream.vendor.know({
    client_id: STATIC_CLIENT.clientId,
    client_secret: STATIC_CLIENT.clientSecret ?? "",
    redirect_uris: [REDIRECT_URI, ...issuers.map((issuer) => `${PUBLIC_URL}${callbackPathOf(issuer)}`)],
    grant_types: ["authorization_code", "refresh_token"],
  });
  const dispatcher = createGuardedDispatcher({ allow: upstream.hosts });
  onTestFinished(async () => {
    await dispatcher.destroy();
    await upstream.close();
  });
  return { upstream, dispatcher };
}

/** The connection that requests authorization, with `more` in its configuration. */
export function targetOf({ url }: OAuthUpstream, more: JsonObject = {}): Target {
  return { accountId: "1", connectionId: 1, keyVersion: 1, configuration: { url, ...more } };
}

/** The configuration with the client that is registered at the vendor. */
export const KNOWN: JsonObject = {
  oauth_client_id: STATIC_CLIENT.clientId,
  oauth_client_secret: STATIC_CLIENT.clientSecret ?? "",
};

/** The authorization of remote MCP servers by their owners, for an installation with that public URL. */
export function authorizationFor(
  { upstream, dispatcher }: Subject,
  clients: UpstreamClients,
  publicUrl = PUBLIC_URL,
): OwnerAuthorization {
  return mcpAuthorization({
    dispatcher,
    checkDestination: (url) => checkDestination(url, upstream.hosts),
    publicUrl,
    clients,
  });
}

/** For tests that register no client. */
export const NO_REGISTRATIONS: UpstreamClients = {
  find: async () => undefined,
  keep: async (_place, client) => client,
  forget: async () => undefined,
};

/** Returns the TokenFailure of an attempt. Throws if the attempt succeeds or fails otherwise. */
export async function failureOf(attempt: Promise<unknown>): Promise<TokenFailure> {
  const outcome: unknown = await attempt.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(outcome instanceof TokenFailure)) throw new Error(`expected a TokenFailure, got ${String(outcome)}`);
  return outcome;
}

/** The terms that discovery would return for a registered client. */
export function termsOf({ url, vendor }: OAuthUpstream, more: Partial<AuthorizationTerms> = {}): AuthorizationTerms {
  return {
    title: "MCP server",
    server: {
      issuer: vendor.issuer,
      authorizationEndpoint: String(vendor.metadata["authorization_endpoint"]),
      tokenEndpoint: String(vendor.metadata["token_endpoint"]),
      revocationEndpoint: String(vendor.metadata["revocation_endpoint"]),
      sendsIssuer: true,
    },
    client: STATIC_CLIENT,
    callbackPath: new URL(REDIRECT_URI).pathname,
    resource: url,
    scope: "tools.read",
    extra: {},
    audience: new URL(url).origin,
    ...more,
  };
}

/** New random values that bind a response to its request. */
export function newProof(
  { callbackPath }: Pick<AuthorizationTerms, "callbackPath"> = { callbackPath: CALLBACK_PATH },
  publicUrl = PUBLIC_URL,
): AuthorizationProof {
  const random = (): string => randomBytes(32).toString("base64url");
  return { redirectUri: publicUrl + callbackPath, state: random(), codeVerifier: random() };
}

/** Opens the vendor's login page as a person who consents; returns the redirect. */
export async function authorize(
  { vendor }: OAuthUpstream,
  terms: AuthorizationTerms,
  proof: AuthorizationProof,
): Promise<URL> {
  return new URL(await vendor.logIn(authorizationRequest(terms, proof).href, { name: "Ada" }));
}

/** Authorizes a connection and redeems the code. */
export async function obtain(
  upstream: OAuthUpstream,
  terms: AuthorizationTerms,
  dispatcher: Dispatcher,
): Promise<IssuedTokens> {
  const proof = newProof(terms);
  const back = await authorize(upstream, terms, proof);
  return redeemCode(terms, back.searchParams, proof, dispatcher, AbortSignal.timeout(20_000));
}
