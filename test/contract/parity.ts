import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import {
  type Document,
  type LocatedOperation,
  type Schema,
  listExamples,
  listOperations,
  plain,
  resolve,
} from "./document.ts";
import { limitsInSchema, limitsInText, numbersIn } from "./limits.ts";
import { type Binding, closedWords, commentKey, listBindings, readComments } from "./proto-surface.ts";

/** Operations of the HTTP contract without an RPC, each with its reason. */
export const HTTP_ONLY: Readonly<Record<string, string>> = {
  issueToken: "OAuth: a form-encoded body and RFC 6749's errors",
  getSigningKeys: "OAuth: a well-known document",
  getAuthorizationServerMetadata: "OAuth: a well-known document",
  getLivez: "for load balancers; gRPC has its own health service",
  getLiveness: "for load balancers; gRPC has its own health service",
  getReadiness: "for load balancers; gRPC has its own health service",
};

/** Fields whose required mark differs between the contracts, each with its reason. */
export const REQUIRED_ELSEWHERE: Readonly<Record<string, string>> = {
  "DeleteConnectionResponse.message": "in both REST shapes; every field of a two-shape message is optional in proto",
};

type Direction = "request" | "response";

/** Lists every difference between the two contracts, one sentence each. */
export function findDifferences(document: Document): string[] {
  const differences: string[] = [];
  const comments = readComments();
  const bindings = listBindings();
  const operations = listOperations(document);

  function commentOf(field: DescField): string {
    return comments.get(commentKey(field.parent, field)) ?? "";
  }

  function expectSame(where: string, what: string, proto: unknown, openapi: unknown): void {
    const [left, right] = [proto, openapi].map((value) => (value === undefined ? "absent" : JSON.stringify(value)));
    if (left !== right) differences.push(`${where}: ${what} is ${left} in proto, ${right} in OpenAPI`);
  }

  function compareField(
    where: string,
    field: DescField,
    reference: Schema,
    direction: Direction,
    description = reference.description ?? resolve(document, reference).description ?? "",
  ): void {
    const { schema } = plain(document, reference);
    const comment = commentOf(field);
    const element = field.fieldKind === "list" ? plain(document, schema.items ?? {}).schema : schema;
    if (field.fieldKind === "list") expectSame(where, "type", "array", schema.type);
    expectSame(where, "type", jsonType(field), element.oneOf === undefined ? element.type : "object");
    expectSame(where, "format", formatOf(field, direction), comparedFormat(field, element, direction));
    const said = limitsInText(comment, schema);
    const limits = limitsInSchema(schema, direction === "response", comment.includes("Required."), said);
    expectSame(where, "limits", said, limits);
    const { minimum, maximum, minLength, maxLength, maxItems } = schema;
    compareNumbers(where, comment, description, [minimum, maximum, minLength, maxLength, maxItems]);
    expectSame(where, "enum", closedWords(comment), element.enum?.toSorted());
    if (direction === "request") expectSame(where, "secret", isSecret(field), schema.writeOnly === true);
    const message = "message" in field ? field.message : undefined;
    if (message !== undefined && !message.typeName.startsWith("google.")) {
      compareMessage(where, message.fields, element, direction);
    }
  }

  /** Compares the numbers of both contracts, in texts and limits. */
  function compareNumbers(
    where: string,
    comment: string,
    description: string,
    limits: readonly (number | undefined)[],
  ): void {
    const [inProto, inText] = [numbersIn(comment), numbersIn(description)];
    const inOpenApi = [...new Set([...inText, ...limits])];
    const unsaid = inProto.filter((number) => !inOpenApi.includes(number));
    const added = inText.filter((number) => !inProto.includes(number));
    if (unsaid.length + added.length > 0)
      differences.push(
        `${where}: numbers are ${JSON.stringify(inProto)} in proto, ${JSON.stringify(inText)} in OpenAPI`,
      );
  }

  function compareMessage(where: string, fields: readonly DescField[], reference: Schema, direction: Direction): void {
    const schema = mergeShapes(document, resolve(document, reference));
    expectSame(where, "fields", fields.map((field) => field.jsonName).sort(), Object.keys(schema.properties).sort());
    for (const field of fields) {
      const property = schema.properties[field.jsonName];
      if (property === undefined) continue;
      const key = commentKey(field.parent, field);
      const inProto = isRequired(field, commentOf(field), direction);
      if (!(key in REQUIRED_ELSEWHERE)) {
        expectSame(`${where}.${field.jsonName}`, "required", inProto, schema.required.includes(field.jsonName));
      }
      const { takesNull } = plain(document, property);
      // Optional request fields accept null. Optional response fields are omitted instead, unless they are always null.
      const mayBeNull = direction === "request" ? !inProto : isNull(field);
      expectSame(`${where}.${field.jsonName}`, "null", mayBeNull, takesNull);
      compareField(`${where}.${field.jsonName}`, field, property, direction);
    }
  }

  function compareParameters(where: string, binding: Binding, parameters: LocatedOperation["parameters"]): void {
    for (const place of ["path", "query"] as const) {
      const fields = place === "path" ? binding.pathFields : binding.queryFields;
      const inPlace = parameters.filter((parameter) => parameter.in === place);
      expectSame(
        where,
        `${place} parameters`,
        fields.map((field) => field.name).sort(),
        inPlace.map(({ name }) => name).sort(),
      );
      for (const parameter of inPlace) {
        const field = fields.find(({ name }) => name === parameter.name);
        if (field === undefined) continue;
        const required = place === "path" || isRequired(field, commentOf(field), "request");
        expectSame(`${where} ${field.name}`, "required", required, parameter.required === true);
        compareField(`${where} ${field.name}`, field, parameter.schema, "request", parameter.description);
      }
    }
  }

  function compareTexts(where: string, status: string, operation: LocatedOperation["operation"], text: string): void {
    const answer = operation.responses[status];
    const media = answer && resolve(document, answer).content?.["application/json"];
    const details = media ? listExamples(document, media).map(([, value]) => (value as { detail: string }).detail) : [];
    const fits = details.some((detail) => detail === text || detail.startsWith(`${text}: `));
    if (!fits) differences.push(`${where}: no ${status} example with the text «${text}» of the proto`);
  }

  function compareOperation(binding: Binding, { operation, parameters }: LocatedOperation): void {
    const where = `${binding.method} ${binding.path}`;
    const successes = Object.keys(operation.responses).filter((status) => status.startsWith("2"));
    expectSame(where, "success status", [binding.successStatus], successes);
    if (binding.scopes.length > 0) {
      const scopes = operation.security.flatMap(({ oauth2 }) => oauth2 ?? []);
      expectSame(where, "scope (oauth2)", binding.scopes.toSorted(), scopes.sort());
      // Only OAuth schemes have scopes in OpenAPI; a bearer token needs the same ones.
      const bearer = operation.security.filter((alternative) => "bearer" in alternative);
      expectSame(where, "scope (bearer)", [{ bearer: [] }], bearer);
    }
    if (binding.scopes.length === 0) expectSame(where, "scope", [], operation.security);
    compareTexts(where, "403", operation, binding.forbiddenText);
    compareTexts(where, "500", operation, binding.internalText);
    compareParameters(where, binding, parameters);

    const body = operation.requestBody?.content["application/json"]?.schema;
    expectSame(where, "request body", binding.bodyFields !== undefined, body !== undefined);
    if (body !== undefined && binding.bodyFields !== undefined) {
      compareMessage(`${where} body`, binding.bodyFields, body, "request");
      const needsBody =
        !binding.isLenient || binding.bodyFields.some((field) => isRequired(field, commentOf(field), "request"));
      expectSame(`${where} body`, "required", needsBody, operation.requestBody?.required === true);
      expectSame(where, "unknown fields", binding.isLenient, resolve(document, body).additionalProperties !== false);
    }
    const success = resolve(document, operation.responses[binding.successStatus] ?? {}).content;
    const isStream = binding.rpc.methodKind === "server_streaming";
    const answer = isStream
      ? success?.["text/event-stream"]?.schema.contentSchema
      : success?.["application/json"]?.schema;
    if (answer === undefined) differences.push(`${where}: no answer to compare with ${binding.rpc.output.name}`);
    else compareMessage(`${where} answer`, binding.rpc.output.fields, answer, "response");
  }

  for (const binding of bindings) {
    const operation = operations.find(({ method, path }) => method === binding.method && path === binding.path);
    if (operation === undefined) differences.push(`${binding.method} ${binding.path}: not in OpenAPI`);
    else compareOperation(binding, operation);
  }
  for (const { method, path, operation } of operations) {
    const isBound = bindings.some((binding) => binding.method === method && binding.path === path);
    if (!isBound && !(operation.operationId in HTTP_ONLY)) differences.push(`${method} ${path}: not in proto`);
  }
  return differences;
}

/** The properties of an object, or of all its shapes. A property is required if every shape requires it. */
function mergeShapes(document: Document, schema: Schema): { properties: Record<string, Schema>; required: string[] } {
  const shapes = (schema.oneOf ?? [schema]).map((shape) => resolve(document, shape));
  const properties = Object.assign({}, ...shapes.map((shape) => shape.properties ?? {})) as Record<string, Schema>;
  const required = Object.keys(properties).filter((name) => shapes.every((shape) => shape.required?.includes(name)));
  return { properties, required };
}

/** Request fields are required if the comment says so; response fields if they are always written. */
function isRequired(field: DescField, comment: string, direction: Direction): boolean {
  if (direction === "request") return comment.includes("Required.");
  if (field.proto.proto3Optional) return false;
  if (field.presence === FeatureSet_FieldPresence.IMPLICIT) return true;
  return !/\b(Unset|Set only)\b/.test(comment);
}

function isSecret(field: DescField): boolean {
  return field.proto.options?.debugRedact ?? false;
}

function isInt32(field: DescField): boolean {
  return "scalar" in field && field.scalar === ScalarType.INT32;
}

function isTime(field: DescField): boolean {
  return "message" in field && field.message?.typeName === "google.protobuf.Timestamp";
}

function isNull(field: DescField): boolean {
  return "enum" in field && field.enum?.typeName === "google.protobuf.NullValue";
}

/** Requests accept a date in place of a time, so only responses have its format. */
function formatOf(field: DescField, direction: Direction): string | undefined {
  if (isInt32(field)) return "int32";
  return isTime(field) && direction === "response" ? "date-time" : undefined;
}

function comparedFormat(field: DescField, { format }: Schema, direction: Direction): string | undefined {
  const isCompared = formatOf(field, direction) !== undefined || /^(?:int|date-time)/.test(format ?? "");
  return isCompared ? format : undefined;
}

function jsonType(field: DescField): string {
  if (isTime(field)) return "string";
  // Client generators reject "null" as the only type.
  if (isNull(field)) return "object";
  if ("enum" in field && field.enum !== undefined) return "unsupported enum";
  switch ("scalar" in field ? field.scalar : undefined) {
    case undefined:
      return "object";
    case ScalarType.STRING:
      return "string";
    case ScalarType.BOOL:
      return "boolean";
    case ScalarType.INT32:
      return "integer";
    case ScalarType.DOUBLE:
      return "number";
    default:
      return "unsupported scalar";
  }
}
