import {
  createFileRegistry,
  type DescExtension,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  getOption,
  hasOption,
  ScalarType,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { JsonObject, JsonValue } from "../../src/json.ts";

/** JSON schemas of Google's well-known messages. */
const WELL_KNOWN: Readonly<Record<string, JsonObject>> = {
  "google.protobuf.Struct": { type: "object", additionalProperties: true },
  "google.protobuf.Value": {},
  "google.protobuf.ListValue": { type: "array", items: {} },
  "google.protobuf.Timestamp": { type: "string", format: "date-time" },
  "google.protobuf.Duration": { type: "string", examples: ["1.5s"] },
  "google.protobuf.FieldMask": { type: "string", description: "Field names, separated by commas." },
};

const INTRODUCTION = `All RPCs of the service, generated from its \`.proto\` files.

The service supports **gRPC**, **gRPC-Web** and **Connect** on one port. This page uses Connect with JSON over HTTP/1.1:
\`POST\` the request as JSON to \`/{service}/{method}\`. Server reflection is enabled, so \`buf curl\` and \`grpcurl\` need no
schema files. \`/descriptor.binpb\` contains the same schema with comments.

Errors have a Connect code and a message. The message equals the \`detail\` of the REST error.`;

const ERROR: JsonObject = {
  type: "object",
  required: ["code"],
  properties: {
    code: { type: "string", description: "The Connect error code.", examples: ["not_found"] },
    message: { type: "string", description: "A message for the user." },
    details: {
      type: "array",
      items: { type: "object", additionalProperties: true },
      description: "Messages of `google.rpc`, each with its type and its base64-encoded bytes.",
    },
  },
};

/**
 * Describes Connect's JSON form of every RPC as an OpenAPI document, with the comments of the proto files.
 * `image` is the output of `buf build` with source information.
 */
export function createRpcDocument(image: Uint8Array): JsonObject {
  const set = fromBinary(FileDescriptorSetSchema, image);
  const registry = createFileRegistry(set);
  const services = [...registry].filter(
    (type): type is DescService => type.kind === "service" && type.typeName.startsWith("patchbay."),
  );
  const comments = new Map(
    set.file.flatMap((file) =>
      (file.sourceCodeInfo?.location ?? []).map(({ path, leadingComments }) => [
        `${file.name}:${path.join(".")}`,
        leadingComments.replaceAll(/^ /gm, "").trim(),
      ]),
    ),
  );
  const option = (name: string): DescExtension => {
    const found = registry.getExtension(`patchbay.v1.${name}`);
    if (found === undefined) throw new Error(`the contract has no option ${name}`);
    return found;
  };
  const [scopeOption, publicOption] = [option("required_scope"), option("public")];
  const schemas: Record<string, JsonValue> = { Error: ERROR };
  const commentOn = (file: string, path: string): string => comments.get(`${file}:${path}`) ?? "";

  function messagePath(message: DescMessage): string {
    const { parent } = message;
    const siblings = parent === undefined ? message.file.messages : parent.nestedMessages;
    const at = siblings.indexOf(message);
    return parent === undefined ? `4.${at}` : `${messagePath(parent)}.3.${at}`;
  }

  function reference(message: DescMessage): JsonObject {
    const known = WELL_KNOWN[message.typeName];
    if (known !== undefined) return known;
    if (message.typeName.startsWith("google.")) throw new Error(`no schema for ${message.typeName}`);
    const name = message.typeName.replace(/^patchbay\.v1\./, "");
    if (!(name in schemas)) {
      // Set before the schema is built, because a message may contain itself.
      schemas[name] = {};
      schemas[name] = messageSchema(message);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  function messageSchema(message: DescMessage): JsonObject {
    const path = messagePath(message);
    const properties = message.fields.map((field, at): [string, JsonObject] => {
      const description = commentOn(message.file.proto.name, `${path}.2.${at}`);
      return [field.jsonName, { ...fieldSchema(field), ...(description !== "" && { description }) }];
    });
    const required = message.fields
      .filter((_, at) => commentOn(message.file.proto.name, `${path}.2.${at}`).includes("Required."))
      .map(({ jsonName }) => jsonName);
    return {
      type: "object",
      description: commentOn(message.file.proto.name, path),
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required }),
    };
  }

  function fieldSchema(field: DescField): JsonObject {
    switch (field.fieldKind) {
      case "list":
        return {
          type: "array",
          items: field.listKind === "message" ? reference(field.message) : scalarSchema(scalarOf(field)),
        };
      case "map":
        return {
          type: "object",
          additionalProperties: field.mapKind === "message" ? reference(field.message) : scalarSchema(scalarOf(field)),
        };
      case "message":
        return reference(field.message);
      case "enum":
        if (field.enum.typeName === "google.protobuf.NullValue") return { type: "null" };
        return { type: "string", enum: field.enum.values.map(({ name }) => name) };
      case "scalar":
        return {
          ...scalarSchema(field.scalar),
          ...(field.proto.options?.debugRedact === true && { writeOnly: true, format: "password" }),
        };
    }
  }

  function operation(rpc: DescMethod, at: number, service: DescService, serviceAt: number): JsonObject {
    const scopes = getOption(rpc, scopeOption) as readonly string[];
    const isPublic = hasOption(rpc, publicOption);
    const said = commentOn(service.file.proto.name, `6.${serviceAt}.2.${at}`);
    const isStream = rpc.methodKind !== "unary";
    const notes = [
      said,
      isStream && "A stream: call it with a Connect or gRPC client. Its JSON form uses enveloped messages.",
      isPublic ? "Requires no token." : `Requires the scope ${scopes.map((scope) => `\`${scope}\``).join(" or ")}.`,
    ];
    const type = isStream ? "application/connect+json" : "application/json";
    return {
      operationId: `${service.name}.${rpc.name}`,
      tags: [service.name],
      summary: rpc.name,
      description: notes.filter((note) => note !== false && note !== "").join("\n\n"),
      security: isPublic ? [] : [{ bearer: [...scopes] }],
      requestBody: { required: true, content: { [type]: { schema: reference(rpc.input) } } },
      responses: {
        "200": { description: "The response.", content: { [type]: { schema: reference(rpc.output) } } },
        default: {
          description: "An error; see its code.",
          content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
        },
      },
    };
  }

  const paths: Record<string, JsonValue> = {};
  const tags: JsonObject[] = [];
  for (const service of services) {
    const serviceAt = service.file.services.indexOf(service);
    tags.push({ name: service.name, description: commentOn(service.file.proto.name, `6.${serviceAt}`) });
    service.methods.forEach((rpc, at) => {
      paths[`/${service.typeName}/${rpc.name}`] = { post: operation(rpc, at, service, serviceAt) };
    });
  }
  return {
    openapi: "3.1.0",
    info: { title: "Patchbay RPC", version: "1.0.0", description: INTRODUCTION },
    servers: [{ url: "/", description: "The service that serves this document." }],
    tags,
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An access token or a personal access token." },
      },
      schemas: Object.fromEntries(Object.entries(schemas).sort(([left], [right]) => (left < right ? -1 : 1))),
    },
  };
}

function scalarOf(field: DescField): ScalarType | undefined {
  return "scalar" in field ? field.scalar : undefined;
}

function scalarSchema(scalar: ScalarType | undefined): JsonObject {
  switch (scalar) {
    case ScalarType.STRING:
      return { type: "string" };
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.INT32:
      return { type: "integer", format: "int32" };
    // JSON numbers do not have 64-bit precision.
    case ScalarType.INT64:
      return { type: "string", format: "int64" };
    case ScalarType.DOUBLE:
      return { type: "number" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64" };
    default:
      throw new Error(`no schema for scalar ${String(scalar)}`);
  }
}
