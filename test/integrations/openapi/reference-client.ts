import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { readContract } from "../../../src/integrations/openapi/contract.ts";
import {
  followReference,
  objectOf,
  type OpenApiDocument,
  parseOpenApi,
} from "../../../src/integrations/openapi/model/document.ts";
import type { Operation } from "../../../src/integrations/openapi/model/operation.ts";
import { operationsOf } from "../../../src/integrations/openapi/operations.ts";
import { buildRequest } from "../../../src/integrations/openapi/requests/request.ts";
import type { JsonObject, JsonValue } from "../../../src/json.ts";

const CONTRACTS = "openapi/integrations";
const GITHUB = "test/integrations/openapi/github.yaml";
const ADDRESS = "https://api.test";
const KEY = "key-0123456789";

/** The credentials in the format of swagger-client, by the scheme names of the contracts. */
const SECURITIES: JsonObject = {
  token: { value: KEY },
  api_key: { value: KEY },
  key: { username: KEY, password: "x" },
  account: { username: "ava@example.com", password: KEY },
};
const CONFIGURATION: JsonObject = { token: KEY, api_key: KEY, api_token: KEY, email: "ava@example.com" };

/** The paths of the documents whose requests are compared. */
export const RECORDED_DOCUMENTS: readonly string[] = [
  ...readdirSync(CONTRACTS).flatMap((name) => (name.endsWith(".yaml") ? [`${CONTRACTS}/${name}`] : [])),
  GITHUB,
];

/** An entry of `RECORDED_DOCUMENTS` with its operations. */
export function operationsOfDocument(path: string): {
  readonly document: OpenApiDocument;
  readonly operations: readonly Operation[];
} {
  const text = readFileSync(path, "utf8");
  const document = parseOpenApi(text);
  const options = { category: undefined, credentialProperty: "api_token" };
  return { document, operations: path === GITHUB ? operationsOf(document, options) : readContract(text).operations };
}

/** A request in a normalized form for comparison. */
export interface ComparableRequest {
  readonly line: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Built {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Headers that differ by client: accepted types and user agent. */
const OWN_HEADERS = ["accept", "user-agent"];

/** The request that swagger-client builds for an operation of a document. */
export function referenceRequest(document: OpenApiDocument, operation: Operation, args: JsonObject): ComparableRequest {
  const client = createRequire(import.meta.url)("swagger-client") as { buildRequest(options: object): Built };
  const raw = resolved(document, operation);
  const parameters = operation.parameters.flatMap(({ property, location, name, constant }): [string, JsonValue][] => {
    const value = constant ?? args[property];
    return value === undefined ? [] : [[`${location}.${name}`, value]];
  });
  const requestBody = bodyOf(operation, args);
  const built = client.buildRequest({
    spec: { ...document.root, paths: { [operation.path]: { [operation.method.toLowerCase()]: raw } } },
    operationId: "it",
    baseURL: ADDRESS,
    parameters: Object.fromEntries(parameters),
    securities: { authorized: SECURITIES },
    ...(requestBody === undefined ? {} : { requestBody, requestContentType: operation.body?.contentType }),
  });
  const { body } = built;
  const text = typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body);
  return comparable(built.method, built.url.slice(ADDRESS.length), built.headers, text);
}

/** The request that the service builds, in the same form. Throws UnsendableArgument for rejected arguments. */
export function ourRequest(operation: Operation, args: JsonObject): ComparableRequest {
  const request = buildRequest(operation, args, { origin: ADDRESS, basePath: "" }, CONFIGURATION);
  return comparable(request.method, request.path, request.headers, request.body?.toString() ?? "");
}

function comparable(
  method: string,
  path: string,
  headers: ComparableRequest["headers"],
  body: string,
): ComparableRequest {
  const lower = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  const kept = lower.filter(([name]) => !OWN_HEADERS.includes(name)).sort(([a], [b]) => (a < b ? -1 : 1));
  const isForm = lower.some(([name, value]) => name === "content-type" && value.endsWith("form-urlencoded"));
  // In forms, swagger-client leaves !'()* unencoded and the service percent-encodes them. Both decode to the same text.
  const form = [...new URLSearchParams(isForm ? body : "")];
  return { line: `${method} ${path}`, headers: Object.fromEntries(kept), body: isForm ? JSON.stringify(form) : body };
}

/** The operation in the format of swagger-client: with a unique operationId and resolved references. */
function resolved(document: OpenApiDocument, { path, method }: Operation): JsonObject {
  const item = followReference(document, objectOf(document.root.paths)[path]);
  const operation = objectOf(item[method.toLowerCase()]);
  const follow = (value: JsonValue | undefined): JsonObject => followReference(document, value);
  const parameterOf = (value: JsonValue): JsonObject => {
    const parameter = follow(value);
    return parameter.schema === undefined ? parameter : { ...parameter, schema: follow(parameter.schema) };
  };
  const parameters = [item.parameters, operation.parameters].flatMap((list) =>
    Array.isArray(list) ? list.map(parameterOf) : [],
  );
  const body = operation.requestBody === undefined ? {} : { requestBody: follow(operation.requestBody) };
  return { ...operation, ...body, operationId: "it", parameters, responses: {} };
}

function bodyOf({ body }: Operation, args: JsonObject): JsonValue | undefined {
  if (body === undefined) return undefined;
  if (body.argument !== undefined) {
    const whole = args[body.argument];
    // Files are base64 arguments; the comparison uses their bytes.
    return body.kind === "binary" && typeof whole === "string" ? Buffer.from(whole, "base64").toString() : whole;
  }
  const fields = [...body.fields].flatMap(([property, { name }]): [string, JsonValue][] => {
    const value = args[property];
    // swagger-client parses form texts as JSON, so that "1.10" would become 1.1. Texts encoded as JSON stay unchanged.
    const isRead = body.kind === "form" && typeof value === "string";
    return value === undefined ? [] : [[name, isRead ? JSON.stringify(value) : value]];
  });
  return Object.fromEntries(fields);
}
