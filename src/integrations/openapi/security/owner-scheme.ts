import { isJsonObject, type JsonObject } from "../../../json.ts";
import { followReference, objectOf, OpenApiError, stringOf, type OpenApiDocument } from "../model/document.ts";
import type { ServerPlan } from "../model/operation.ts";
import { serverOf } from "../requests/server-plan.ts";

/** The vendor's authorization code flow (RFC 6749 §4.1). */
export interface OwnerScheme {
  readonly authorization: ServerPlan;
  readonly token: ServerPlan;
  /** The RFC 7009 revocation endpoint, if any. */
  readonly revocation: ServerPlan | undefined;
  /** All scopes that the tools need; empty when the client's registration decides. */
  readonly scopes: readonly string[];
  readonly authentication: "client_secret_basic" | "client_secret_post";
  /** The vendor's own authorization request parameters. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The vendor's client credentials flow (RFC 6749 §4.4). */
export interface ClientScheme {
  readonly token: ServerPlan;
  /** All scopes that the tools need; empty when the client's registration decides. */
  readonly scopes: readonly string[];
  readonly authentication: "basic" | "post";
}

/** At most one is set. */
export interface OAuthSchemes {
  readonly ownerScheme: OwnerScheme | undefined;
  readonly clientScheme: ClientScheme | undefined;
}

/**
 * Reads the OAuth 2 scheme with `x-patchbay-authorization`: `{authentication: basic | post, revocation_url,
 * parameters}`, of which `authentication` is required. With an authorization code flow owners log in; with only a
 * client credentials flow the operator's client gets the tokens. Schemes without the extension are ignored. Throws
 * OpenApiError for missing URLs.
 */
export function oauthSchemesOf(document: OpenApiDocument): OAuthSchemes {
  const schemes = Object.values(objectOf(objectOf(document.root.components).securitySchemes));
  const scheme = schemes
    .map((each) => followReference(document, each))
    .find((each) => isJsonObject(each["x-patchbay-authorization"]));
  if (scheme === undefined) return { ownerScheme: undefined, clientScheme: undefined };
  const { authorizationCode, clientCredentials } = objectOf(scheme.flows);
  return authorizationCode === undefined && clientCredentials !== undefined
    ? { ownerScheme: undefined, clientScheme: readClientScheme(document, scheme) }
    : { ownerScheme: readOwnerScheme(document, scheme), clientScheme: undefined };
}

function readOwnerScheme(document: OpenApiDocument, scheme: JsonObject): OwnerScheme {
  const flow = objectOf(objectOf(scheme.flows).authorizationCode);
  const said = objectOf(scheme["x-patchbay-authorization"]);
  const { defaults } = serverOf(document.root.servers);
  const plan = (url: string): ServerPlan => ({ url, defaults });
  const [authorizationUrl, tokenUrl] = [stringOf(flow.authorizationUrl), stringOf(flow.tokenUrl)];
  if (scheme.type !== "oauth2" || authorizationUrl === undefined || tokenUrl === undefined)
    throw new OpenApiError(
      'has "x-patchbay-authorization" in a scheme without an authorization code or client credentials flow',
    );
  const revocationUrl = stringOf(said.revocation_url);
  const parameters = Object.entries(objectOf(said.parameters)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return {
    authorization: plan(authorizationUrl),
    token: plan(tokenUrl),
    revocation: revocationUrl === undefined ? undefined : plan(revocationUrl),
    scopes: Object.keys(objectOf(flow.scopes)),
    authentication: authenticationOf(scheme) === "basic" ? "client_secret_basic" : "client_secret_post",
    parameters: Object.fromEntries(parameters),
  };
}

function readClientScheme(document: OpenApiDocument, scheme: JsonObject): ClientScheme {
  const flow = objectOf(objectOf(scheme.flows).clientCredentials);
  const tokenUrl = stringOf(flow.tokenUrl);
  if (scheme.type !== "oauth2" || tokenUrl === undefined)
    throw new OpenApiError('has "x-patchbay-authorization" in a client credentials flow without a "tokenUrl"');
  return {
    token: { url: tokenUrl, defaults: serverOf(document.root.servers).defaults },
    scopes: Object.keys(objectOf(flow.scopes)),
    authentication: authenticationOf(scheme),
  };
}

function authenticationOf(scheme: JsonObject): "basic" | "post" {
  const { authentication } = objectOf(scheme["x-patchbay-authorization"]);
  if (authentication === "basic" || authentication === "post") return authentication;
  throw new OpenApiError('needs "authentication" (basic or post) in "x-patchbay-authorization"');
}
