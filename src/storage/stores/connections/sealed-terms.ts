import type { AuthorizationServer, AuthorizationTerms, UpstreamClient } from "../../../integrations/authorization.ts";
import { CALLBACK_PATH } from "../../../integrations/oauth/client-document.ts";
import { isJsonObject, type JsonValue } from "../../../json.ts";

/** Returns the properties of an opened value; an empty object if it is not an object. */
export type Fields = Readonly<Record<string, JsonValue | undefined>>;

/** Returns the properties of a nested object of an opened value. */
export function fieldsOf(value: unknown): Fields {
  return isJsonObject(value) ? value : {};
}

/** Reads the terms of an authorization in their sealed format. Throws TypeError for any other value. */
export function toTerms(fields: Fields): AuthorizationTerms {
  const { title, server, client, callbackPath, resource, scope, extra, audience } = fields;
  return {
    title: textOf(title),
    server: toServer(fieldsOf(server)),
    client: toUpstreamClient(fieldsOf(client)),
    // Older terms, from before each issuer had a callback path, contain no path.
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

/** Reads a client in its sealed format. */
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

/** Returns a required string. Throws TypeError if it is missing. */
export function textOf(value: JsonValue | undefined): string {
  if (typeof value !== "string") throw new TypeError("a sealed value lacks a text");
  return value;
}

/** Returns an optional string. */
export function optionalText(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
