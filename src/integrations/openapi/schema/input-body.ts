import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { arrayOf, followReference, objectOf, stringOf, type OpenApiDocument } from "../model/document.ts";
import { essenceOf, isJsonType, isTextType } from "../model/media-type.ts";
import type { BodyPlan, FieldPlan } from "../model/operation.ts";
import type { SchemaConverter } from "./schema.ts";

export interface BodyInput {
  readonly plan: BodyPlan;
  readonly properties: readonly [string, JsonValue][];
  readonly required: readonly string[];
  /** The schema of undeclared arguments. */
  readonly additional: JsonValue;
}

/** Names already used by parameters. */
export interface ArgumentNames {
  take(name: string): string;
  isTaken(name: string): boolean;
}

/** JSON cannot carry bytes, so files are base64. */
export const FILE_SCHEMA: JsonObject = {
  type: "object",
  description: "A file. Addresses are not fetched: give its content.",
  properties: {
    content: { type: "string", contentEncoding: "base64", description: "The file's bytes in base64." },
    filename: {
      type: "string",
      maxLength: 255,
      pattern: '^[^/\\\\"\\x00-\\x1f]+$',
      description: "Its name with the extension; no path.",
    },
    media_type: { type: "string", pattern: "^[\\w.+-]+/[\\w.+-]+$", description: "Such as application/pdf." },
  },
  required: ["content"],
  additionalProperties: false,
};

const BASE64_SCHEMA: JsonObject = {
  type: "string",
  contentEncoding: "base64",
  description: "The bytes to send, in base64.",
};

/** Returns the body's arguments; undefined without a body. */
export function bodyInputOf(
  document: OpenApiDocument,
  converter: SchemaConverter,
  operation: JsonObject,
  names: ArgumentNames,
): BodyInput | undefined {
  const request = followReference(document, operation.requestBody);
  const chosen = chooseContent(Object.entries(objectOf(request.content)));
  if (chosen === undefined) return undefined;
  const { contentType, kind, media } = chosen;
  const schema = media.schema;
  const object = kind === "json" || kind === "form" || kind === "multipart" ? flatten(document, schema) : undefined;
  const isRequired = request.required === true;
  if (object === undefined || (kind === "json" && Object.keys(object.properties).some((name) => names.isTaken(name)))) {
    return wholeBody(converter, chosen, schema, isRequired, stringOf(request.description), names);
  }
  const encodings = objectOf(media.encoding);
  const fields = new Map<string, FieldPlan>();
  const properties: [string, JsonValue][] = [];
  const required: string[] = [];
  for (const [name, property] of Object.entries(object.properties)) {
    const resolved = followReference(document, property);
    if (resolved.readOnly === true) continue;
    const isFile = kind === "multipart" && isFileSchema(document, resolved);
    const argument = names.take(name);
    fields.set(argument, fieldOf(name, objectOf(encodings[name]), isFile));
    properties.push([argument, isFile ? fileSchema(document, resolved) : converter.convert(property)]);
    if (isRequired && object.required.has(name)) required.push(argument);
  }
  const isOpen = object.additional !== false;
  return {
    plan: { contentType, kind, argument: undefined, fields, isOpen },
    properties,
    required,
    additional: typeof object.additional === "boolean" ? object.additional : converter.convert(object.additional),
  };
}

function wholeBody(
  converter: SchemaConverter,
  { contentType, kind }: ChosenContent,
  schema: JsonValue | undefined,
  isRequired: boolean,
  description: string | undefined,
  names: ArgumentNames,
): BodyInput {
  const argument = names.take("body");
  const converted =
    kind === "binary" ? BASE64_SCHEMA : kind === "text" ? { type: "string" } : converter.convert(schema ?? {});
  const described =
    description === undefined || !isJsonObject(converted) ? converted : { description, allOf: [converted] };
  return {
    plan: { contentType, kind, argument, fields: new Map(), isOpen: false },
    properties: [[argument, described]],
    required: isRequired ? [argument] : [],
    additional: false,
  };
}

interface ChosenContent {
  readonly contentType: string;
  readonly kind: BodyPlan["kind"];
  readonly media: JsonObject;
}

/** Prefers the type that a model writes best: JSON, forms, files, text, bytes. */
function chooseContent(contents: readonly [string, JsonValue][]): ChosenContent | undefined {
  const order: BodyPlan["kind"][] = ["json", "form", "multipart", "text", "binary"];
  const found = contents.map(([contentType, media]) => ({
    contentType,
    kind: kindOf(contentType),
    media: objectOf(media),
  }));
  return found.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))[0];
}

function kindOf(contentType: string): BodyPlan["kind"] {
  const essence = essenceOf(contentType);
  if (isJsonType(contentType) || essence === "*/*" || essence === "application/*") return "json";
  if (essence === "application/x-www-form-urlencoded") return "form";
  if (essence === "multipart/form-data") return "multipart";
  return isTextType(contentType) ? "text" : "binary";
}

interface FlatObject {
  readonly properties: JsonObject;
  readonly required: ReadonlySet<string>;
  /** `false` unless the schema allows more. */
  readonly additional: JsonValue;
}

/**
 * Returns the named properties of a body; undefined when it is not a plain object. Alternatives that differ only in
 * `required` are left to the upstream.
 */
function flatten(document: OpenApiDocument, schema: JsonValue | undefined, depth = 0): FlatObject | undefined {
  const target = followReference(document, schema);
  if (depth > 8) return undefined;
  const parts = arrayOf(target.allOf);
  // A nullable body is omitted instead.
  const types = arrayOf(Array.isArray(target.type) ? target.type : [target.type ?? "object"]);
  if (types.some((type) => type !== "object" && type !== "null")) return undefined;
  if (target.properties === undefined && parts.length === 0) return undefined;
  const choices = [...arrayOf(target.anyOf), ...arrayOf(target.oneOf)];
  if (choices.some((choice) => !isOnlyRequired(choice)) || target.patternProperties !== undefined) return undefined;
  const flat = parts.map((part) => flatten(document, part, depth + 1));
  if (flat.some((part) => part === undefined)) return undefined;
  const all = flat.filter((part) => part !== undefined);
  const additional = [target.additionalProperties, ...all.map((part) => part.additional)];
  return {
    properties: Object.fromEntries(
      [...all.map((part) => part.properties), objectOf(target.properties)].flatMap((part) => Object.entries(part)),
    ),
    required: new Set([
      ...all.flatMap((part) => [...part.required]),
      ...arrayOf(target.required).filter((name) => typeof name === "string"),
    ]),
    additional: additional.find((value) => value !== undefined && value !== false) ?? false,
  };
}

function isOnlyRequired(choice: JsonValue): boolean {
  return isJsonObject(choice) && Object.keys(choice).every((keyword) => keyword === "required" || keyword === "title");
}

function fieldOf(name: string, encoding: JsonObject, isFile: boolean): FieldPlan {
  const style = stringOf(encoding.style) ?? "form";
  const explode = encoding.explode;
  return {
    name,
    style,
    explode: typeof explode === "boolean" ? explode : style === "form",
    contentType: stringOf(encoding.contentType)?.split(",", 1)[0]?.trim(),
    isFile,
  };
}

function isFileSchema(document: OpenApiDocument, schema: JsonObject): boolean {
  if (schema.type === "array") return isFileSchema(document, followReference(document, schema.items));
  return (
    schema.format === "binary" ||
    schema.contentMediaType === "application/octet-stream" ||
    schema.contentEncoding === "binary"
  );
}

function fileSchema(document: OpenApiDocument, schema: JsonObject): JsonObject {
  const description = stringOf(schema.description);
  if (schema.type === "array")
    return { type: "array", items: fileSchema(document, followReference(document, schema.items)) };
  return description === undefined
    ? FILE_SCHEMA
    : { ...FILE_SCHEMA, description: `${description} Addresses are not fetched: give its content.` };
}
