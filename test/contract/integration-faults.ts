import {
  arrayOf,
  followReference,
  objectOf,
  parseOpenApi,
  stringOf,
  type OpenApiDocument,
} from "../../src/integrations/openapi/model/document.ts";
import { readContract, type IntegrationContract } from "../../src/integrations/openapi/contract.ts";
import { isJsonObject, type JsonObject } from "../../src/json.ts";

const MIN_OPERATIONS = 8;
const METHODS = ["get", "put", "post", "delete", "patch"];
const READING_VERB = /^(get|list|search|query|find|read|count|look|download)_/;
const WRITING_VERB =
  /^(create|update|delete|add|remove|send|post|set|move|archive|merge|close|upload|append|change|cancel|assign|edit)_/;
const SECRET_NAME = /(^|_)(token|key|secret|password)$/;

/** Lists what a contract needs before it can be in the catalog, one sentence per fault. */
export function integrationFaults(file: string, text: string): readonly string[] {
  let contract: IntegrationContract;
  try {
    contract = readContract(text);
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
  const document = parseOpenApi(text);
  return [
    ...headFaults(file, document, contract),
    ...configurationFaults(contract),
    ...serverFaults(document, contract),
    ...operationsOf(document).flatMap((operation) => operationFaults(document, operation)),
    ...contract.operations.flatMap(({ tool }) => markFaults(tool)),
  ];
}

function headFaults(file: string, { root }: OpenApiDocument, contract: IntegrationContract): readonly string[] {
  const count = contract.operations.length;
  const sources = typeof root["x-source"] === "string" ? [root["x-source"]] : arrayOf(root["x-source"]);
  const tags = arrayOf(root.tags).map(objectOf);
  return [
    ...unless(
      file === `${contract.serverType}.yaml`,
      `is not named after its server_type, ${contract.serverType}.yaml`,
    ),
    ...unless(count >= MIN_OPERATIONS, `has ${count} operations; ${MIN_OPERATIONS} are wanted`),
    ...unless(contract.description.length >= 20, "needs a description of 20 characters or more in info"),
    ...unless(contract.category !== undefined, 'needs a "category"'),
    ...unless(contract.documentationUrl?.startsWith("https://") === true, 'needs an https "documentation_url"'),
    ...unless(contract.credentialProperty !== undefined, 'needs to name its "credential"'),
    ...unless(
      sources.length > 0 && sources.every((source) => (stringOf(source) ?? "").length > 10),
      'needs "x-source": the package and version, or the page, that confirms each path, parameter and body',
    ),
    ...tags.flatMap((tag) =>
      unless(
        (stringOf(tag.description) ?? "").length > 5,
        `needs a description of the tag "${stringOf(tag.name) ?? "?"}"`,
      ),
    ),
  ];
}

function configurationFaults(contract: IntegrationContract): readonly string[] {
  const schema = contract.configurationSchema;
  const required = arrayOf(schema.required);
  const faults = Object.entries(objectOf(schema.properties)).flatMap(([name, value]) => {
    const property = objectOf(value);
    const isText = property.type === "string";
    const isLimited = ["maxLength", "pattern", "enum", "const"].some((keyword) => property[keyword] !== undefined);
    const where = `configuration property "${name}"`;
    return [
      ...unless((stringOf(property.title) ?? "").length >= 2, `${where} needs a title`),
      ...unless(
        (stringOf(property.description) ?? "").length >= 20,
        `${where} needs a description that says where to find it`,
      ),
      ...unless(property.writeOnly === true || !SECRET_NAME.test(name), `${where} sounds secret: writeOnly: true`),
      ...unless(!isText || isLimited, `${where} needs a limit: maxLength, pattern or enum`),
    ];
  });
  const { credentialProperty = "" } = contract;
  return [
    ...faults,
    ...unless(stringOf(schema.$schema)?.includes("draft-07") === true, 'configuration needs "$schema" of Draft 7'),
    ...unless(required.includes(credentialProperty), `configuration must require "${credentialProperty}"`),
  ];
}

/** Keys are sent over https only, whether the contract or the form supplies the address. */
function serverFaults({ root }: OpenApiDocument, contract: IntegrationContract): readonly string[] {
  const server = objectOf(arrayOf(root.servers)[0]);
  const url = stringOf(server.url) ?? "";
  const variable = /^\{([^{}]+)\}/.exec(url)?.[1];
  if (!/^(https:\/\/[^/]*|\{[^{}]+\})$/.test(url))
    return [`needs a server that is an https host alone, not "${url}": a stand-in serves the paths as they are`];
  if (variable === undefined) return [];
  const fallback = stringOf(objectOf(objectOf(server.variables)[variable]).default);
  const property = objectOf(objectOf(contract.configurationSchema.properties)[variable]);
  return [
    ...unless(fallback?.startsWith("https://") === true, `needs an https default of the server variable "${variable}"`),
    ...unless(
      stringOf(property.pattern)?.startsWith("^https://") === true,
      `configuration property "${variable}" is where the key goes: its pattern must begin with ^https://`,
    ),
  ];
}

interface RawOperation {
  readonly path: string;
  readonly name: string;
  readonly item: JsonObject;
  readonly operation: JsonObject;
}

function operationsOf(document: OpenApiDocument): readonly RawOperation[] {
  return Object.entries(objectOf(document.root.paths)).flatMap(([path, value]) => {
    const item = followReference(document, value);
    return METHODS.flatMap((method) => {
      const operation = item[method];
      if (!isJsonObject(operation) || operation["x-patchbay-hidden"] === true) return [];
      return [{ path, item, operation, name: stringOf(operation.operationId) ?? `${method.toUpperCase()} ${path}` }];
    });
  });
}

function operationFaults(document: OpenApiDocument, { name, item, operation }: RawOperation): readonly string[] {
  const summary = stringOf(operation.summary) ?? "";
  const description = stringOf(operation.description) ?? "";
  const tag = stringOf(arrayOf(operation.tags)[0]) ?? stringOf(operation["x-patchbay-category"]);
  const declared = arrayOf(document.root.tags).map((entry) => stringOf(objectOf(entry).name));
  const parameters = [...arrayOf(item.parameters), ...arrayOf(operation.parameters)];
  const responses = Object.entries(objectOf(operation.responses));
  return [
    ...unless(/^[a-z][a-z0-9]*(_[a-z0-9]+)+$/.test(name) && name.length <= 64, "needs an operationId like list_issues"),
    ...unless(summary.length >= 8 && summary.length <= 100, "needs a summary of 8 to 100 characters"),
    ...unless(description.length >= 20 && description.length <= 1_000, "needs a description of 20 to 1,000 characters"),
    ...unless(tag !== undefined && declared.includes(tag), "needs a tag from the document's tags: it is the category"),
    ...unless(
      responses.some(([status]) => status.startsWith("4") || status === "default"),
      "needs an answer for refusals (4xx or default)",
    ),
    ...parameters.flatMap((value) => parameterFaults(followReference(document, value))),
    ...responses
      .filter(([status]) => status.startsWith("2"))
      .flatMap(([status, value]) => exampleFaults(status, followReference(document, value))),
  ].map((fault) => `${name} ${fault}`);
}

function parameterFaults(parameter: JsonObject): readonly string[] {
  const name = stringOf(parameter.name) ?? "?";
  const schema = objectOf(parameter.schema);
  return [
    ...unless((stringOf(parameter.description) ?? "").length >= 5, `needs a description of "${name}"`),
    ...unless(
      ["type", "$ref", "const", "enum", "oneOf", "anyOf", "allOf"].some((keyword) => schema[keyword] !== undefined),
      `needs a schema with a type for "${name}"`,
    ),
  ];
}

function exampleFaults(status: string, response: JsonObject): readonly string[] {
  return Object.entries(objectOf(response.content)).flatMap(([type, media]) =>
    unless(
      objectOf(media).example !== undefined || objectOf(media).examples !== undefined,
      `needs an example of its ${status} answer in ${type}`,
    ),
  );
}

/** Access rules depend on whether a tool is read-only, so the method or the mark must match the tool's name. */
function markFaults(tool: IntegrationContract["operations"][number]["tool"]): readonly string[] {
  const { name, readOnly, annotations } = tool;
  return [
    ...unless(readOnly || !READING_VERB.test(name), `${name} reads by its name: x-patchbay-read-only: true`),
    ...unless(!readOnly || !WRITING_VERB.test(name), `${name} writes by its name: x-patchbay-read-only: false`),
    ...unless(annotations.requiresAuth, `${name} needs a security scheme that can be met`),
  ];
}

function unless(isGood: boolean, fault: string): readonly string[] {
  return isGood ? [] : [fault];
}
