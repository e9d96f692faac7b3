import {
  dynamicClientRegistrationRequest,
  processDynamicClientRegistrationResponse,
  ResponseBodyError,
} from "oauth4webapi";
import { isJsonObject, parseJson } from "../../json.ts";
import { clip } from "../clip.ts";
import type { UpstreamClient } from "../authorization.ts";
import { callbackPathOf, clientDocumentUrl, clientMetadata } from "./client-document.ts";
import type { OutboundAccess } from "./fetch-metadata.ts";
import { NoAnswer } from "./outbound-fetch.ts";
import type { DescribedServer } from "./server-metadata.ts";
import { TokenFailure } from "./token-failure.ts";
import { optionsFor } from "./token-request.ts";
import { unusableAnswer } from "./token-refusal.ts";
import type { UpstreamClients } from "./upstream-clients.ts";

const MAX_DEPTH = 16;

/** Errors of RFC 7591 §3.2.2 and RFC 6749 §5.2 with which servers refuse scopes. */
const SCOPE_REFUSALS: readonly string[] = ["invalid_client_metadata", "invalid_scope"];

/** Registrations are renewed after this time, since a server may delete them without notice. */
const REGISTRATION_DAYS = 30;

/** A client that the owner or the operator registered by hand. */
export interface ConfiguredClient {
  readonly clientId: string;
  readonly clientSecret: string | undefined;
}

export interface ClientDeps extends OutboundAccess {
  readonly publicUrl: string;
  readonly clients: UpstreamClients;
}

/**
 * Returns our client at a server: the configured one, else our client document where the server supports it, else a
 * stored or new dynamic registration for at least `scope`. Throws TokenFailure that says what to configure when none is
 * possible.
 */
export async function resolveClient(
  described: DescribedServer,
  configured: ConfiguredClient | undefined,
  scope: string | undefined,
  deps: ClientDeps,
  signal: AbortSignal,
): Promise<UpstreamClient> {
  const { server, authentications, supportsClientDocuments, registrationEndpoint } = described;
  if (configured !== undefined) {
    const { clientId, clientSecret } = configured;
    const authentication = clientSecret === undefined ? "none" : secretAuthentication(authentications);
    return { clientId, clientSecret, authentication, source: "configured" };
  }
  const callbackPath = callbackPathOf(server.issuer);
  const documentUrl = clientDocumentUrl(deps.publicUrl, callbackPath);
  if (supportsClientDocuments && documentUrl !== undefined)
    return { clientId: documentUrl, clientSecret: undefined, authentication: "none", source: "document" };
  if (registrationEndpoint === undefined) throw noClientAvailable(described, deps, "takes no registrations of clients");
  const place = { issuer: server.issuer, redirectUri: `${deps.publicUrl}${callbackPath}` };
  const known = await deps.clients.find(place);
  const registeredScope = joinScopes(known?.registeredScope, scope);
  if (known !== undefined && registeredScope === joinScopes(known.registeredScope)) return known;
  const { client, expiresAt } = await register(described, registrationEndpoint, registeredScope, deps, signal);
  // Authorizations under way keep the client that they started with.
  if (known !== undefined) await deps.clients.forget(place, known.clientId);
  const latest = new Date(Date.now() + REGISTRATION_DAYS * 86_400_000);
  return deps.clients.keep(place, client, expiresAt !== undefined && expiresAt < latest ? expiresAt : latest);
}

/** Returns the distinct scopes in their order; undefined when there are none. */
function joinScopes(...scopes: readonly (string | undefined)[]): string | undefined {
  const words = new Set(scopes.flatMap((scope) => scope?.split(" ") ?? []).filter((word) => word !== ""));
  return words.size === 0 ? undefined : [...words].join(" ");
}

interface Registration {
  readonly client: UpstreamClient;
  readonly expiresAt: Date | undefined;
}

/**
 * Registers with the scopes that we will ask for, because some servers allow a client only those scopes. A server that
 * refuses them may still allow its default scopes, so the registration is repeated once without scopes.
 */
async function register(
  described: DescribedServer,
  registrationEndpoint: string,
  registeredScope: string | undefined,
  deps: ClientDeps,
  signal: AbortSignal,
): Promise<Registration> {
  try {
    try {
      return await requestRegistration(described, registrationEndpoint, registeredScope, registeredScope, deps, signal);
    } catch (error) {
      if (registeredScope === undefined || !(error instanceof ResponseBodyError)) throw error;
      if (!SCOPE_REFUSALS.includes(error.error)) throw error;
      return await requestRegistration(described, registrationEndpoint, undefined, registeredScope, deps, signal);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw registrationFailure(described, registrationEndpoint, deps, error);
  }
}

/** `sentScope` differs from `registeredScope` when the server refused the scopes. */
async function requestRegistration(
  { server, authentications }: DescribedServer,
  registrationEndpoint: string,
  sentScope: string | undefined,
  registeredScope: string | undefined,
  deps: ClientDeps,
  signal: AbortSignal,
): Promise<Registration> {
  const method = authentications?.includes("none") === true ? "none" : secretAuthentication(authentications);
  const wanted = {
    ...clientMetadata(deps.publicUrl, callbackPathOf(server.issuer)),
    token_endpoint_auth_method: method,
    ...(sentScope !== undefined && { scope: sentScope }),
  };
  const response = await dynamicClientRegistrationRequest(
    { issuer: server.issuer, registration_endpoint: registrationEndpoint },
    wanted,
    optionsFor(deps.dispatcher, signal),
  );
  const given = await processDynamicClientRegistrationResponse(await normalizedResponse(response));
  const { client_id: clientId, client_secret: secret, token_endpoint_auth_method: agreed } = given;
  const clientSecret = typeof secret === "string" && secret !== "" ? secret : undefined;
  const authentication = clientSecret === undefined ? "none" : authenticationOf(agreed, method);
  const expiresSeconds = Number(given["client_secret_expires_at"] ?? 0);
  return {
    client: {
      clientId,
      clientSecret: authentication === "none" ? undefined : clientSecret,
      authentication,
      source: "registered",
      ...(registeredScope !== undefined && { registeredScope }),
    },
    expiresAt: clientSecret !== undefined && expiresSeconds > 0 ? new Date(expiresSeconds * 1_000) : undefined,
  };
}

function registrationFailure(
  described: DescribedServer,
  registrationEndpoint: string,
  deps: ClientDeps,
  error: unknown,
): unknown {
  if (error instanceof ResponseBodyError) {
    const said = clip([error.error, error.error_description ?? []].flat().join(": "));
    return noClientAvailable(described, deps, `refused our registration (${said})`);
  }
  if (!(error instanceof NoAnswer)) return noClientAvailable(described, deps, "did not take our registration");
  const title = new URL(described.server.issuer).host;
  return unusableAnswer({ title, tokenUrl: registrationEndpoint, clientId: "", clientSecret: undefined }, error);
}

/** Accepts common deviations: a status other than RFC 7591's 201, and null values. */
async function normalizedResponse(response: Response): Promise<Response> {
  const { status, headers } = response;
  const text = await response.text();
  if (status !== 200 && status !== 201) return new Response(text === "" ? null : text, { status, headers });
  const body = parseJson(text, { maxDepth: MAX_DEPTH });
  const said = isJsonObject(body) ? Object.entries(body).filter(([, value]) => value !== null) : [];
  const whole = { client_secret_expires_at: 0, ...Object.fromEntries(said) };
  return new Response(JSON.stringify(whole), { status: 201, headers: { "content-type": "application/json" } });
}

function authenticationOf(agreed: unknown, asked: UpstreamClient["authentication"]): UpstreamClient["authentication"] {
  switch (agreed) {
    case "none":
    case "client_secret_post":
    case "client_secret_basic":
      return agreed;
    // RFC 7591: unspecified values are as requested.
    default:
      return asked;
  }
}

/** Basic is the default (RFC 6749 §2.3.1, RFC 8414). */
function secretAuthentication(offered: readonly string[] | undefined): "client_secret_basic" | "client_secret_post" {
  const hasPostOnly = offered?.includes("client_secret_post") === true && !offered.includes("client_secret_basic");
  return hasPostOnly ? "client_secret_post" : "client_secret_basic";
}

function noClientAvailable({ server }: DescribedServer, { publicUrl }: ClientDeps, reason: string): TokenFailure {
  return new TokenFailure(
    "refused",
    `The authorization server ${server.issuer} ${reason}. Register a client there with the redirect address ` +
      `${publicUrl}${callbackPathOf(server.issuer)}, and put its id into the configuration as oauth_client_id (and its secret as oauth_client_secret).`,
  );
}
