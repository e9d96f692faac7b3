import { invalid } from "../../domain-error.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";

export const MCP_CONFIGURATION_SCHEMA: JsonObject = {
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  additionalProperties: false,
  required: ["url"],
  properties: {
    url: {
      type: "string",
      format: "uri",
      maxLength: 2048,
      description: "Address of the MCP server (Streamable HTTP or HTTP+SSE), such as https://mcp.example.com/mcp.",
    },
    api_token: {
      type: "string",
      minLength: 1,
      maxLength: 8192,
      writeOnly: true,
      description: "Sent as Authorization: Bearer <api_token>. Leave it out for a server that asks for none.",
    },
    headers: {
      type: "object",
      maxProperties: 20,
      additionalProperties: { type: "string", maxLength: 4096 },
      writeOnly: true,
      description: "Further request headers, all of them kept secret. Host, Cookie and Authorization are refused.",
    },
    oauth_client_id: {
      type: "string",
      minLength: 1,
      maxLength: 2048,
      description:
        "For a server whose owner logs in: the id of a client that was registered there by hand. Leave it out where clients register themselves; authorizing then says which redirect address to register if they do not.",
    },
    oauth_client_secret: {
      type: "string",
      minLength: 1,
      maxLength: 8192,
      writeOnly: true,
      description: "The secret of that client, where it has one.",
    },
    oauth_scope: {
      type: "string",
      minLength: 1,
      maxLength: 2048,
      description:
        "For a server whose owner logs in: the scopes to ask for, separated by spaces, instead of those that the server names.",
    },
  },
};

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;
const PRINTABLE = /^[\x20-\x7e]*$/;
/** RFC 6749 §3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/** Headers that the connection controls: framing, routing, credentials and MCP negotiation. */
const REFUSED_HEADER =
  /^(?:host|cookie2?|set-cookie|authorization|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|http2-settings|expect|accept|accept-encoding|content-.*|mcp-.*|last-event-id)$/i;

/**
 * Checks rules that JSON Schema cannot express. Throws DomainError `invalid` naming the property, never a secret's
 * value.
 */
export function checkMcpConfiguration(
  configuration: JsonObject,
  checkDestination: (url: string) => string | undefined,
): void {
  const { url, api_token: token, headers } = configuration;
  if (typeof url !== "string") throw invalid("url", "url is required");
  const refused = checkDestination(url);
  if (refused !== undefined) throw invalid("url", /^[A-Z]/.test(refused) ? `url: ${refused}` : `url ${refused}`);
  if (typeof token === "string" && !/^[\x21-\x7e]+$/.test(token)) {
    throw invalid("api_token", "api_token must consist of visible ASCII characters without spaces");
  }
  if (isJsonObject(headers)) checkHeaders(headers);
  checkClient(configuration);
}

function checkClient({ oauth_client_id: id, oauth_client_secret: secret, oauth_scope: scope }: JsonObject): void {
  for (const [name, value] of Object.entries({ oauth_client_id: id, oauth_client_secret: secret }))
    if (typeof value === "string" && !PRINTABLE.test(value))
      throw invalid(name, `${name} must consist of printable ASCII characters`);
  if (secret !== undefined && id === undefined)
    throw invalid("oauth_client_id", "oauth_client_secret needs the oauth_client_id that it belongs to");
  if (typeof scope === "string" && !SCOPE.test(scope))
    throw invalid("oauth_scope", "oauth_scope must be words of visible ASCII characters, separated by one space each");
}

function checkHeaders(headers: JsonObject): void {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    if (!TOKEN.test(name))
      throw invalid("headers", "headers: every name must be an HTTP token of at most 128 characters");
    if (REFUSED_HEADER.test(name)) throw invalid("headers", `headers: ${name} cannot be set`);
    if (seen.has(name.toLowerCase())) throw invalid("headers", `headers: ${name} is given twice`);
    seen.add(name.toLowerCase());
    if (typeof value !== "string" || !PRINTABLE.test(value)) {
      throw invalid("headers", `headers: the value of ${name} must consist of printable ASCII characters`);
    }
  }
}
