import { isJsonObject, type JsonObject } from "../../../json.ts";
import { followReference, objectOf, OpenApiError, stringOf, type OpenApiDocument } from "../model/document.ts";
import type { ServerPlan } from "../model/operation.ts";
import { serverOf } from "../requests/server-plan.ts";

/** How the owner of a connection logs in at the third party instead of giving a key (RFC 6749 §4.1). */
export interface OwnerScheme {
  readonly authorization: ServerPlan;
  readonly token: ServerPlan;
  /** Where tokens are revoked by RFC 7009; undefined where they cannot be. */
  readonly revocation: ServerPlan | undefined;
  /** All that the tools need; empty where the client's registration alone decides. */
  readonly scopes: readonly string[];
  readonly authentication: "client_secret_basic" | "client_secret_post";
  /** The vendor's own parameters of the authorization request. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** How the installation itself gets tokens with the operator's client, nobody logging in (RFC 6749 §4.4). */
export interface ClientScheme {
  readonly token: ServerPlan;
  /** All that the tools need; empty where the client's registration alone decides. */
  readonly scopes: readonly string[];
  readonly authentication: "basic" | "post";
}

/** The ways beside the key that a document has. At most one is set. */
export interface OAuthSchemes {
  readonly ownerScheme: OwnerScheme | undefined;
  readonly clientScheme: ClientScheme | undefined;
}

/**
 * The document's OAuth 2 scheme whose `x-patchbay-authorization` says how it is gone through: `{authentication: basic | post,
 * revocation_url, parameters}`, of which only the first is needed. With an authorization code flow owners log in; with a client
 * credentials flow alone the operator's client gets the tokens, and of the extension only `authentication` counts. None where no
 * scheme has the extension: what a stranger's document says of flows has nothing to go by. Throws OpenApiError for one without
 * its addresses.
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
