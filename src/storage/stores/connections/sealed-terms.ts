import type { AuthorizationServer, AuthorizationTerms, UpstreamClient } from "../../../integrations/authorization.ts";
import { CALLBACK_PATH } from "../../../integrations/oauth/client-document.ts";
import { isJsonObject, type JsonValue } from "../../../json.ts";

/** The members of an opened value; what is not an object has none. */
export type Fields = Readonly<Record<string, JsonValue | undefined>>;

/** The members of a part of an opened value. */
export function fieldsOf(value: unknown): Fields {
  return isJsonObject(value) ? value : {};
}

/** The terms of an authorization in the form in which they were sealed. Throws TypeError for what is none. */
export function toTerms(fields: Fields): AuthorizationTerms {
  const { title, server, client, callbackPath, resource, scope, extra, audience } = fields;
  return {
    title: textOf(title),
    server: toServer(fieldsOf(server)),
    client: toUpstreamClient(fieldsOf(client)),
    // Terms that were sealed before issuers had addresses of their own name none.
    callbackPath: optionalText(callbackPath) ?? CALLBACK_PATH,
    resource: optionalText(resource),
    scope: optionalText(scope),
    extra: Object.fromEntries(Object.entries(fieldsOf(extra)).map(([name, value]) => [name, textOf(value)])),
    audience: textOf(audience),
  };
}

function toServer(fields: Fields): AuthorizationServer {
  return {
    issuer: textOf(fields.issuer),
    authorizationEndpoint: textOf(fields.authorizationEndpoint),
    tokenEndpoint: textOf(fields.tokenEndpoint),
    revocationEndpoint: optionalText(fields.revocationEndpoint),
    sendsIssuer: fields.sendsIssuer === true,
  };
}

/** A client in the form in which it was sealed. */
export function toUpstreamClient(fields: Fields): UpstreamClient {
  const { clientId, clientSecret, authentication, source, registeredScope } = fields;
  return {
    clientId: textOf(clientId),
    clientSecret: optionalText(clientSecret),
    authentication:
      authentication === "client_secret_basic" || authentication === "client_secret_post" ? authentication : "none",
    source: source === "document" || source === "registered" ? source : "configured",
    ...(typeof registeredScope === "string" && { registeredScope }),
  };
}

/** A text that must be there. Throws TypeError without. */
export function textOf(value: JsonValue | undefined): string {
  if (typeof value !== "string") throw new TypeError("a sealed value lacks a text");
  return value;
}

/** A text that may be missing. */
export function optionalText(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
