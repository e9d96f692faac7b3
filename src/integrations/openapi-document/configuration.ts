import { invalid } from "../../domain-error.ts";
import type { JsonObject, JsonValue } from "../../json.ts";

/** Exempt from the configuration's size limit. */
export const DOCUMENT_PROPERTY = "spec";

/** Sealed at rest, never returned. */
export const OPENAPI_SECRET_PROPERTIES = ["api_token"] as const;

/** Properties that decide where the credential is sent. */
export const DESTINATION_PROPERTIES = ["spec_url", "spec", "base_url", "token_url"] as const;

/** Bytes of an inline document. */
const MAX_SPEC_BYTES = 900 * 1024;

export const OPENAPI_CONFIGURATION_SCHEMA: JsonObject = {
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  additionalProperties: false,
  properties: {
    spec_url: {
      type: "string",
      format: "uri",
      maxLength: 2048,
      title: "Address of the document",
      description:
        "Address of an OpenAPI 3 or Swagger 2.0 document in YAML or JSON. Fetched without a credential, and again every few hours.",
    },
    spec: {
      type: ["string", "object"],
      title: "Document",
      description:
        "The document itself, as text or as an object, at most 900 KiB; instead of spec_url. Shown afterwards as sha256:… of its text.",
    },
    base_url: {
      type: "string",
      format: "uri",
      maxLength: 2048,
      title: "Base address",
      description:
        "Where calls go, path included, instead of to the document's servers. Needed with api_token where the document comes from another site than its server.",
    },
    api_token: {
      type: "string",
      minLength: 1,
      maxLength: 4096,
      writeOnly: true,
      title: "Key",
      description: "Sent where the document's security scheme says; as a bearer token where it has none.",
    },
    username: {
      type: "string",
      minLength: 1,
      maxLength: 256,
      title: "User name",
      description:
        "For HTTP Basic: the user name, with api_token as the password. Left out, api_token is the user name.",
    },
    client_id: {
      type: "string",
      minLength: 1,
      maxLength: 512,
      title: "Client id",
      description:
        "For OAuth 2 client credentials: the client's id, with api_token as its secret. Tokens are requested from the document's token URL.",
    },
    token_url: {
      type: "string",
      format: "uri",
      maxLength: 2048,
      title: "Token URL",
      description:
        "Where tokens are requested, instead of at the document's token URL. Needed with client_id where that is on another site than the document and base_url.",
    },
    scope: {
      type: "string",
      maxLength: 1024,
      pattern: "^[\\x21\\x23-\\x5b\\x5d-\\x7e]+( [\\x21\\x23-\\x5b\\x5d-\\x7e]+)*$",
      title: "Scopes",
      description:
        "For OAuth 2 client credentials: the scopes to ask for, separated by spaces. Left out, none are named.",
    },
    security_scheme: {
      type: "string",
      minLength: 1,
      maxLength: 128,
      title: "Security scheme",
      description: "Which of the document's security schemes to use. Left out means bearer, then API key, then Basic.",
    },
  },
};

/** A reference to a stored document. */
const REFERENCE = /^sha256:([0-9a-f]{64})$/;

export function referenceTo(digest: string): string {
  return `sha256:${digest}`;
}

/** Returns the digest that `spec` refers to; undefined for an inline document. */
export function digestIn(spec: JsonValue | undefined): string | undefined {
  return typeof spec === "string" ? REFERENCE.exec(spec)?.[1] : undefined;
}

/** Returns the text of an inline document; undefined when there is none or it is too large. */
export function textIn(spec: JsonValue | undefined): string | undefined {
  if (spec === undefined || spec === null || digestIn(spec) !== undefined) return undefined;
  if (typeof spec !== "string" && (typeof spec !== "object" || Array.isArray(spec))) return undefined;
  const text = typeof spec === "string" ? spec : JSON.stringify(spec);
  return Buffer.byteLength(text) > MAX_SPEC_BYTES ? undefined : text;
}

/** Checks rules that JSON Schema cannot express. Throws DomainError `invalid` naming the property. */
export function checkOpenApiConfiguration(
  configuration: JsonObject,
  checkDestination: (url: string) => string | undefined,
): void {
  const { spec, spec_url: specUrl, base_url: baseUrl, token_url: tokenUrl, api_token: token } = configuration;
  if ((spec === undefined) === (specUrl === undefined))
    throw invalid("configuration", "configuration: supply either spec_url or spec");
  for (const [name, url] of [
    ["spec_url", specUrl],
    ["base_url", baseUrl],
    ["token_url", tokenUrl],
  ] as const) {
    const refused = typeof url === "string" ? checkDestination(url) : undefined;
    if (refused !== undefined)
      throw invalid(name, /^[A-Z]/.test(refused) ? `${name}: ${refused}` : `${name} ${refused}`);
  }
  if (typeof baseUrl === "string" && baseUrl.includes("?"))
    throw invalid("base_url", "base_url must not contain a query");
  if (configuration.client_id === undefined && (tokenUrl !== undefined || configuration.scope !== undefined))
    throw invalid("client_id", "client_id is missing: token_url and scope are for OAuth 2 client credentials");
  if (spec !== undefined && digestIn(spec) === undefined && textIn(spec) === undefined)
    throw invalid("spec", `spec must be at most ${MAX_SPEC_BYTES / 1024} KiB`);
  if (typeof token === "string" && !/^[\x21-\x7e]+$/.test(token))
    throw invalid("api_token", "api_token must consist of visible ASCII characters without spaces");
}
