import { isJsonObject, type JsonObject } from "../../json.ts";
import { arrayOf, objectOf, OpenApiError, parseOpenApi, stringOf } from "./model/document.ts";
import { errorAnswersOf, type ErrorAnswers } from "./results/error-answers.ts";
import type { Operation, ServerPlan } from "./model/operation.ts";
import { operationsOf } from "./operations.ts";
import { type ClientScheme, type OwnerScheme, oauthSchemesOf } from "./security/owner-scheme.ts";

/**
 * An integration's contract: an OpenAPI document whose root has `x-patchbay-integration`:
 *
 * | key | meaning |
 * |---|---|
 * | `server_type` | the wire name, `^[a-z][a-z0-9_-]{0,62}$` |
 * | `category` | product category, and the default category of its tools |
 * | `documentation_url` | the vendor's API documentation |
 * | `configuration` | JSON Schema (Draft 7) of a connection's configuration; secrets carry `writeOnly: true` |
 * | `credential` | the secret property that `api_key` replaces |
 * | `destination` | the properties that decide where the credential is sent |
 * | `verification` | the operationId of a read without arguments that succeeds with every valid credential |
 * | `busy_seconds` | seconds to pause after a 429 without a stated wait (optional) |
 * | `error_headers` | headers in which it explains errors (optional) |
 * | `error_answers` | for vendors that report errors with status 200: an answer whose value at `pointer` equals `equals` is an error, with its code at `code` and explanations at `details`; `statuses` maps error codes to HTTP statuses (optional) |
 *
 * `x-patchbay-rate-limits` states its rate limits (see `rate-limits.ts`). `x-source` lists the packages and pages that
 * confirm the paths, parameters, bodies and limits.
 *
 * Title and description come from `info`. Server variables are filled from configuration properties of the same name.
 * An OAuth 2 scheme with `x-patchbay-authorization` (see `owner-scheme.ts`) is available when the operator has registered a
 * client (`INTEGRATION_OAUTH_CLIENTS`): owners log in, or, with only a client credentials flow, the client acts for every
 * account.
 * See `security.ts` for `x-patchbay-credential` of a security scheme and `operations.ts` for extensions of operations.
 */
export interface IntegrationContract {
  readonly serverType: string;
  readonly title: string;
  readonly description: string;
  readonly category: string | undefined;
  readonly documentationUrl: string | undefined;
  readonly configurationSchema: JsonObject;
  readonly secretProperties: readonly string[];
  readonly credentialProperty: string | undefined;
  readonly destinationProperties: readonly string[];
  /** Seconds to pause after a 429 without a stated wait. */
  readonly busySeconds: number | undefined;
  readonly errorHeaders: readonly string[];
  readonly errorAnswers: ErrorAnswers | undefined;
  readonly verification: Operation;
  readonly ownerScheme: OwnerScheme | undefined;
  readonly clientScheme: ClientScheme | undefined;
  readonly operations: readonly Operation[];
}

/** Reads a contract from YAML or JSON. Throws OpenApiError that says what is missing or wrong. */
export function readContract(text: string): IntegrationContract {
  const document = parseOpenApi(text);
  const extension = document.root["x-patchbay-integration"];
  if (!isJsonObject(extension)) throw new OpenApiError('has no "x-patchbay-integration"');
  const info = objectOf(document.root.info);
  const serverType = required(extension, "server_type", /^[a-z][a-z0-9_-]{0,62}$/);
  const configuration = configurationOf(extension);
  const properties = objectOf(configuration.properties);
  const secretProperties = Object.keys(properties).filter((name) => objectOf(properties[name]).writeOnly === true);
  const credentialProperty = stringOf(extension.credential);
  if (credentialProperty !== undefined && !secretProperties.includes(credentialProperty))
    throw new OpenApiError(
      `names the credential "${credentialProperty}", which is no writeOnly property of "configuration"`,
    );
  const destinationProperties = wordsOf(extension, "destination");
  for (const name of destinationProperties)
    if (!(name in properties))
      throw new OpenApiError(`names the destination "${name}", which "configuration" does not have`);
  const category = stringOf(extension.category);
  const operations = operationsOf(document, { category, credentialProperty });
  if (operations.length === 0) throw new OpenApiError("has no operations");
  for (const { server, credentials, tool } of operations) {
    checkServer(server, `"${tool.name}"`, properties, destinationProperties);
    for (const plan of credentials)
      if (plan.kind === "client_credentials") checkServer(plan.server, "its tokens", properties, destinationProperties);
  }
  const { ownerScheme, clientScheme } = oauthSchemesOf(document);
  if (clientScheme !== undefined) checkServer(clientScheme.token, "its tokens", properties, destinationProperties);
  for (const server of [ownerScheme?.authorization, ownerScheme?.token, ownerScheme?.revocation])
    if (server !== undefined) checkServer(server, "its login", properties, destinationProperties);
  return {
    serverType,
    title: required(info, "title", /./),
    description: required(info, "description", /./),
    category,
    documentationUrl: stringOf(extension.documentation_url),
    configurationSchema: configuration,
    secretProperties,
    credentialProperty,
    destinationProperties,
    busySeconds: typeof extension.busy_seconds === "number" ? extension.busy_seconds : undefined,
    errorHeaders: wordsOf(extension, "error_headers").map((name) => name.toLowerCase()),
    errorAnswers: errorAnswersOf(extension.error_answers),
    verification: verificationOf(extension, operations),
    ownerScheme,
    clientScheme,
    operations,
  };
}

/**
 * Configuration properties in the server address must be destination properties, so that changing them requires the
 * credential again.
 */
function checkServer(server: ServerPlan, what: string, properties: JsonObject, destination: readonly string[]): void {
  if (!/^(https:\/\/|\{)/.test(server.url))
    throw new OpenApiError(`needs an https server for ${what}, not "${server.url}"`);
  for (const [, name = ""] of server.url.matchAll(/\{([^{}]+)\}/g)) {
    if (Object.hasOwn(properties, name) ? destination.includes(name) : server.defaults.has(name)) continue;
    throw new OpenApiError(
      Object.hasOwn(properties, name)
        ? `has "${name}" in its server's address, so "destination" must name it`
        : `has "${name}" in its server's address, so "configuration" must declare it or the server must give it a default`,
    );
  }
}

function configurationOf(extension: JsonObject): JsonObject {
  const schema = extension.configuration;
  if (!isJsonObject(schema) || schema.type !== "object" || !isJsonObject(schema.properties))
    throw new OpenApiError('"configuration" must be a JSON Schema with type object and properties');
  if (schema.additionalProperties !== false)
    throw new OpenApiError('"configuration" must say additionalProperties: false');
  return schema;
}

function verificationOf(extension: JsonObject, operations: readonly Operation[]): Operation {
  const name = required(extension, "verification", /./);
  const found = operations.find(({ tool }) => tool.name === name);
  if (found === undefined)
    throw new OpenApiError(`names the verification "${name}", but has no operation with that operationId`);
  if (!found.tool.readOnly || arrayOf(found.tool.inputSchema.required).length > 0)
    throw new OpenApiError(`names the verification "${name}", which must only read and need no arguments`);
  return found;
}

function required(object: JsonObject, key: string, pattern: RegExp): string {
  const value = stringOf(object[key])?.trim();
  if (value !== undefined && pattern.test(value)) return value;
  throw new OpenApiError(`needs "${key}"${value === undefined ? "" : ` in the form ${pattern.source}`}`);
}

function wordsOf(object: JsonObject, key: string): readonly string[] {
  return arrayOf(object[key]).filter((word) => typeof word === "string");
}
