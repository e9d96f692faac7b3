import { isJsonObject, type JsonObject } from "../../json.ts";
import { followReference, objectOf, OpenApiError, textOf, type OpenApiDocument } from "./document.ts";
import type { ServerPlan } from "./operation.ts";
import { serverOf } from "./server-plan.ts";

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

/**
 * The document's OAuth 2 scheme with an authorization code flow whose `x-patchbay-authorization` says how it is gone through:
 * `{authentication: basic | post, revocation_url, parameters}`, of which only the first is needed. Undefined where there is
 * none: what a stranger's document says of flows has nothing to go by. Throws OpenApiError for one without its addresses.
 */
export function ownerSchemeOf(document: OpenApiDocument): OwnerScheme | undefined {
  const schemes = Object.values(objectOf(objectOf(document.root.components).securitySchemes));
  const scheme = schemes
    .map((each) => followReference(document, each))
    .find((each) => isJsonObject(each["x-patchbay-authorization"]));
  return scheme === undefined ? undefined : readScheme(document, scheme);
}

function readScheme(document: OpenApiDocument, scheme: JsonObject): OwnerScheme {
  const flow = objectOf(objectOf(scheme.flows).authorizationCode);
  const said = objectOf(scheme["x-patchbay-authorization"]);
  const { defaults } = serverOf(document.root.servers);
  const plan = (url: string): ServerPlan => ({ url, defaults });
  const [authorizationUrl, tokenUrl] = [textOf(flow.authorizationUrl), textOf(flow.tokenUrl)];
  if (scheme.type !== "oauth2" || authorizationUrl === undefined || tokenUrl === undefined)
    throw new OpenApiError('has "x-patchbay-authorization" in a scheme without an authorization code flow');
  if (said.authentication !== "basic" && said.authentication !== "post")
    throw new OpenApiError('needs "authentication" (basic or post) in "x-patchbay-authorization"');
  const revocationUrl = textOf(said.revocation_url);
  const parameters = Object.entries(objectOf(said.parameters)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return {
    authorization: plan(authorizationUrl),
    token: plan(tokenUrl),
    revocation: revocationUrl === undefined ? undefined : plan(revocationUrl),
    scopes: Object.keys(objectOf(flow.scopes)),
    authentication: said.authentication === "basic" ? "client_secret_basic" : "client_secret_post",
    parameters: Object.fromEntries(parameters),
  };
}
