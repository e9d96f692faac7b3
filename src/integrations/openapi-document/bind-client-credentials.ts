import type { JsonObject } from "../../json.ts";
import type { ClientCredentialsPlan, Operation } from "../openapi/model/operation.ts";
import type { LoadedDocument } from "./document-cache.ts";
import { DocumentFailure } from "./document-failure.ts";
import { literalWithQuery } from "./literal-address.ts";

/**
 * Builds the client credentials plan of a connection with a `client_id`; `api_token` is the client secret. Throws
 * DocumentFailure.
 */
export function clientCredentialsOf(
  requirements: Operation["requirements"],
  schemes: LoadedDocument["schemes"],
  configuration: JsonObject,
): ClientCredentialsPlan {
  const wanted = new Set(requirements?.flat() ?? schemes.map(([name]) => name));
  const urls = schemes.flatMap(([name, plan]) => {
    const url = plan.kind === "bearer" && wanted.has(name) ? plan.oauth?.tokenUrl : undefined;
    return url === undefined ? [] : [{ name, url }];
  });
  const stated = urls.find(({ name }) => name === configuration.security_scheme) ?? urls[0];
  return {
    kind: "client_credentials",
    server: { url: tokenUrlOf(stated?.url, configuration), defaults: new Map() },
    clientId: "{client_id}",
    clientSecret: "{api_token}",
    scope: typeof configuration.scope === "string" ? "{scope}" : undefined,
    authentication: "basic",
  };
}

/**
 * The secret is sent only to `token_url`, to the origin of the document or of `base_url`, or to the token URL of an
 * inline document: a fetched document's author is not trusted.
 */
function tokenUrlOf(stated: string | undefined, configuration: JsonObject): string {
  const { token_url: chosen, spec_url: source, base_url: base } = configuration;
  if (typeof chosen === "string") return literalWithQuery(new URL(chosen));
  const start = typeof source === "string" ? source : typeof base === "string" ? base : undefined;
  const url = stated === undefined ? null : URL.parse(stated, start);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    throw new DocumentFailure(
      "unusable",
      "There is a client_id, and the document names no token URL for client credentials that can be used; set token_url.",
    );
  const sites = [source, base].flatMap((address) => (typeof address === "string" ? [new URL(address).origin] : []));
  if (typeof source === "string" && !sites.includes(url.origin))
    throw new DocumentFailure(
      "unusable",
      `The document's token URL is on another site, ${url.origin}; set token_url to say that the secret may go there.`,
    );
  return literalWithQuery(url);
}
