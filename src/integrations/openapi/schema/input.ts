import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { arrayOf, followReference, objectOf, stringOf, type OpenApiDocument } from "../model/document.ts";
import { bodyInputOf, type BodyInput } from "./input-body.ts";
import type { BodyPlan, ParameterPlan } from "../model/operation.ts";
import type { SchemaConverter } from "./schema.ts";

export interface OperationInput {
  readonly schema: JsonObject;
  readonly parameters: readonly ParameterPlan[];
  readonly body: BodyPlan | undefined;
}

export interface RawInput {
  readonly path: string;
  /** Parameters of all operations of the path. */
  readonly shared: readonly JsonValue[];
  readonly operation: JsonObject;
}

/** Headers that the connection controls. OpenAPI ignores the first three as parameters. */
const OWN_HEADERS = new Set([
  ...["accept", "content-type", "authorization", "host", "cookie", "content-length", "connection", "transfer-encoding"],
  ...["user-agent", "accept-encoding"],
]);
const LOCATIONS = ["path", "query", "header", "cookie"] as const;

/**
 * Combines path, query, header and cookie parameters and the body's properties in one flat object. A body that is not
 * a plain object becomes the argument `body`. Characters that model hosts reject become `_`; a name already in use
 * gets its location as a prefix, such as `query_id`. Undeclared arguments are rejected unless the body allows them. A
 * required parameter with a `const` is sent without being an argument.
 */
export function inputOf(
  document: OpenApiDocument,
  converter: SchemaConverter,
  { path, shared, operation }: RawInput,
): OperationInput {
  const names = new Set<string>();
  const properties: [string, JsonValue][] = [];
  const required: string[] = [];
  const parameters = parametersOf(document, [...inPath(path), ...shared], operation).map(
    ({ parameter, location }): ParameterPlan => {
      const name = stringOf(parameter.name) ?? "";
      const constant = parameter.required === true ? objectOf(parameter.schema).const : undefined;
      const property = constant === undefined ? takeName(names, name, location) : name;
      const [contentType, content] = Object.entries(objectOf(parameter.content))[0] ?? [];
      const schema = converter.convert(objectOf(content).schema ?? parameter.schema ?? {});
      if (constant === undefined) {
        properties.push([property, described(schema, parameter)]);
        if (parameter.required === true || location === "path") required.push(property);
      }
      const style = stringOf(parameter.style) ?? (location === "query" || location === "cookie" ? "form" : "simple");
      const explode = parameter.explode;
      return {
        property,
        name,
        location,
        style,
        explode: typeof explode === "boolean" ? explode : style === "form" || style === "cookie",
        allowReserved: parameter.allowReserved === true,
        asJson: contentType !== undefined,
        ...(constant === undefined ? {} : { constant }),
      };
    },
  );
  const body = bodyInputOf(document, converter, operation, {
    take: (name) => takeName(names, name, "body"),
    isTaken: (name) => names.has(cleanName(name)),
  });
  if (body !== undefined) properties.push(...body.properties);
  return {
    schema: schemaOf(converter, properties, [...required, ...(body?.required ?? [])], body),
    parameters,
    body: body?.plan,
  };
}

function schemaOf(
  converter: SchemaConverter,
  properties: readonly [string, JsonValue][],
  required: readonly string[],
  body: BodyInput | undefined,
): JsonObject {
  const additional = body?.additional ?? false;
  const definitions = converter.definitionsOf([...properties.map(([, schema]) => schema), additional]);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length > 0 ? { required: [...required] } : {}),
    additionalProperties: additional,
    ...(Object.keys(definitions).length > 0 ? { definitions } : {}),
  };
}

/** For documents that do not declare their path parameters. */
function inPath(path: string): readonly JsonObject[] {
  return [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = ""]) => ({ name, in: "path", schema: { type: "string" } }));
}

interface FoundParameter {
  readonly parameter: JsonObject;
  readonly location: (typeof LOCATIONS)[number];
}

/** Operation parameters override path parameters. Ordered by path, query, header, cookie. */
function parametersOf(
  document: OpenApiDocument,
  shared: readonly JsonValue[],
  operation: JsonObject,
): readonly FoundParameter[] {
  const found = new Map<string, FoundParameter>();
  for (const value of [...shared, ...arrayOf(operation.parameters)]) {
    const parameter = followReference(document, value);
    const name = stringOf(parameter.name);
    const location = LOCATIONS.find((word) => word === parameter.in);
    if (name === undefined || location === undefined) continue;
    if (location === "header" && OWN_HEADERS.has(name.toLowerCase())) continue;
    found.set(`${location} ${name}`, { parameter, location });
  }
  return LOCATIONS.flatMap((location) => [...found.values()].filter((entry) => entry.location === location));
}

/** Model hosts accept `^[A-Za-z0-9_.-]{1,64}$` as argument names. */
function cleanName(name: string): string {
  const joined = name.replaceAll(/[^A-Za-z0-9_.-]+/g, "_");
  const clean = joined === "_" ? joined : joined.replaceAll(/^_+|(?<!_)_+$/g, "");
  return (clean === "" ? "argument" : clean).slice(0, 64);
}

function takeName(taken: Set<string>, name: string, location: string): string {
  // Leading underscores of the wire name stay.
  const clean = /^[A-Za-z0-9_.-]{1,64}$/.test(name) ? name : cleanName(name);
  let candidate = clean;
  for (let attempt = 1; taken.has(candidate); attempt += 1)
    candidate = `${location}_${clean}`.slice(0, 60) + (attempt === 1 ? "" : `_${attempt}`);
  taken.add(candidate);
  return candidate;
}

/** Adds the parameter's description and deprecation. */
function described(schema: JsonValue, parameter: JsonObject): JsonValue {
  const description = stringOf(parameter.description);
  const deprecated = parameter.deprecated === true ? "Deprecated. " : "";
  if (!isJsonObject(schema) || (description === undefined && deprecated === "")) return schema;
  const text = `${deprecated}${description ?? stringOf(schema.description) ?? ""}`.trim();
  // Draft 7 ignores siblings of a reference.
  return "$ref" in schema ? { description: text, allOf: [schema] } : { ...schema, description: text };
}
