import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";

/**
 * `input` omits `readOnly` properties. `output` omits `writeOnly` properties and all restrictions except types: an
 * upstream that adds an enum value or drops a field must not make its answers invalid for clients that validate them.
 */
export type Direction = "input" | "output";

type Convert = (schema: JsonValue) => JsonValue;

/** Keywords without subschemas that mean the same in OpenAPI and Draft 7. */
const PLAIN = [
  ...["title", "description", "default", "multipleOf", "maximum", "minimum", "maxLength", "minLength", "pattern"],
  ...["maxItems", "minItems", "uniqueItems", "maxProperties", "minProperties", "format", "writeOnly"],
];
/** Keywords that restrict values beyond their type. */
const RESTRICTIONS = new Set([
  ...["multipleOf", "maximum", "minimum", "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems"],
  ...["maxProperties", "minProperties", "format", "exclusiveMinimum", "exclusiveMaximum"],
]);

/** Converts OpenAPI 3.0 keywords: `nullable`, boolean exclusive limits, `example`. */
export function keywordsOf30(schema: JsonObject, direction: Direction, convert: Convert): JsonObject {
  const result = sharedKeywords(schema, direction, convert);
  if (schema.exclusiveMinimum === true && direction === "input") {
    if (result.minimum !== undefined) result.exclusiveMinimum = result.minimum;
    delete result.minimum;
  }
  if (schema.exclusiveMaximum === true && direction === "input") {
    if (result.maximum !== undefined) result.exclusiveMaximum = result.maximum;
    delete result.maximum;
  }
  return schema.nullable === true ? nullable(result) : result;
}

/** Converts OpenAPI 3.1 (2020-12) keywords: `prefixItems`, `dependent…`, `unevaluated…`. */
export function keywordsOf31(schema: JsonObject, direction: Direction, convert: Convert): JsonObject {
  const result = sharedKeywords(schema, direction, convert);
  for (const keyword of ["exclusiveMinimum", "exclusiveMaximum"] as const)
    if (typeof schema[keyword] === "number" && direction === "input") result[keyword] = schema[keyword];
  if (Array.isArray(schema.prefixItems)) {
    result.items = schema.prefixItems.map(convert);
    if (schema.items !== undefined) result.additionalItems = convert(schema.items);
  }
  const dependencies = { ...objectOf(schema.dependentRequired), ...mapSchemas(schema.dependentSchemas, convert) };
  if (Object.keys(dependencies).length > 0 && direction === "input") result.dependencies = dependencies;
  // Draft 7 has no equivalent across combinations.
  const combined = ["allOf", "anyOf", "oneOf", "if", "$ref"].some((keyword) => schema[keyword] !== undefined);
  if (schema.unevaluatedProperties !== undefined && !combined && direction === "input")
    result.additionalProperties ??= convert(schema.unevaluatedProperties);
  for (const keyword of ["contentEncoding", "contentMediaType"] as const)
    if (schema[keyword] !== undefined) result[keyword] = schema[keyword];
  return result;
}

function sharedKeywords(schema: JsonObject, direction: Direction, convert: Convert): JsonObject {
  const result: JsonObject = {};
  const type = schema.type;
  if (typeof type === "string" || Array.isArray(type)) result.type = type;
  for (const keyword of PLAIN) {
    const value = schema[keyword];
    if (value !== undefined && !(direction === "output" && RESTRICTIONS.has(keyword))) result[keyword] = value;
  }
  addValues(result, schema, direction);
  addObject(result, schema, direction, convert);
  if (schema.items !== undefined) result.items = convert(schema.items);
  for (const keyword of ["allOf", "anyOf", "oneOf"] as const) {
    const parts = schema[keyword];
    // `oneOf` would fail when two match, which does not matter for output.
    if (Array.isArray(parts) && parts.length > 0)
      result[direction === "output" && keyword === "oneOf" ? "anyOf" : keyword] = parts.map(convert);
  }
  if (direction === "input")
    for (const keyword of ["not", "if", "then", "else", "contains", "propertyNames"] as const)
      if (schema[keyword] !== undefined) result[keyword] = convert(schema[keyword]);
  return result;
}

function addValues(result: JsonObject, schema: JsonObject, direction: Direction): void {
  const examples = Array.isArray(schema.examples) ? schema.examples : [];
  const allowed = Array.isArray(schema.enum) ? schema.enum : [];
  if (direction === "input") {
    if (allowed.length > 0) result.enum = allowed;
    if (schema.const !== undefined) result.const = schema.const;
  }
  if (examples.length > 0) result.examples = examples;
  else if (schema.example !== undefined) result.examples = [schema.example];
  else if (direction === "output" && allowed.length > 0) result.examples = allowed;
}

function addObject(result: JsonObject, schema: JsonObject, direction: Direction, convert: Convert): void {
  const left = direction === "input" ? "readOnly" : "writeOnly";
  const properties = Object.entries(objectOf(schema.properties));
  const kept = properties.filter(([, property]) => !(isJsonObject(property) && property[left] === true));
  if (schema.properties !== undefined)
    result.properties = Object.fromEntries(kept.map(([name, property]) => [name, convert(property)]));
  if (schema.patternProperties !== undefined) result.patternProperties = mapSchemas(schema.patternProperties, convert);
  const additional = schema.additionalProperties;
  if (additional !== undefined && !(direction === "output" && additional === false))
    result.additionalProperties = additional === true ? true : convert(additional);
  if (direction === "output" || !Array.isArray(schema.required)) return;
  const dropped = new Set(properties.filter((property) => !kept.includes(property)).map(([name]) => name));
  const required = schema.required.filter((name) => typeof name === "string" && !dropped.has(name));
  if (required.length > 0) result.required = [...new Set(required)];
}

function nullable(schema: JsonObject): JsonObject {
  const { type } = schema;
  if (typeof type !== "string")
    return Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: "null" }] };
  const values = schema.enum;
  const withNull = Array.isArray(values) && !values.includes(null) ? { enum: [...values, null] } : {};
  return { ...schema, ...withNull, type: [type, "null"] };
}

function mapSchemas(value: JsonValue | undefined, convert: Convert): JsonObject {
  return Object.fromEntries(Object.entries(objectOf(value)).map(([name, schema]) => [name, convert(schema)]));
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
