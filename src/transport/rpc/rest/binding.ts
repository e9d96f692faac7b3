import { create, getOption, hasOption, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { http } from "../../../../gen/proto/google/api/annotations_pb.ts";
import type { HttpRule } from "../../../../gen/proto/google/api/http_pb.ts";
import { rest_source, RestSource } from "../../../../gen/proto/patchbay/v1/options_pb.ts";
import { invalid } from "../../../domain-error.ts";
import type { JsonObject } from "../../../json.ts";
import { ROUTE_METHODS, type PathParameters } from "../../http/router.ts";
import type { ServedRpc } from "../calls.ts";
import { parameterNames } from "./path-template.ts";
import { setField } from "../message-fields.ts";
import { createMessageReader } from "./read-message.ts";
import { createQueryReader, parameterReader } from "./read-query.ts";

/** One HTTP method and path that serves an RPC. */
export interface Binding {
  readonly rpc: ServedRpc;
  readonly httpMethod: (typeof ROUTE_METHODS)[number];
  /** A path template of google.api.http, such as `/api/v1/mcp-servers/{server_id}`. */
  readonly template: string;
  /** Whether the request is read from a body. */
  readonly takesBody: boolean;
  /** Builds the request message. `body` is undefined if there is none. Throws DomainError `invalid`. */
  build(parameters: PathParameters, query: string, body: JsonObject | undefined): Message;
}

/**
 * Returns the bindings that google.api.http declares for an RPC. Throws for what REST does not support, which fails the
 * start.
 */
export function readBindings(rpc: ServedRpc): readonly Binding[] {
  if (!hasOption(rpc.method, http)) return [];
  const rule = getOption(rpc.method, http);
  return [rule, ...rule.additionalBindings].map((each) => createBinding(rpc, each));
}

function createBinding(rpc: ServedRpc, rule: HttpRule): Binding {
  const { case: verb, value: template } = rule.pattern;
  if (verb === undefined || verb === "custom") throw new Error(`${rpc.path} has a binding without a standard method`);
  const httpMethod = ROUTE_METHODS.find((method) => method === verb.toUpperCase());
  if (httpMethod === undefined) throw new Error(`REST does not serve ${verb.toUpperCase()} ${template}`);
  if (rule.body !== "" && rule.body !== "*")
    throw new Error(`${rpc.path} has a binding whose body is neither * nor empty`);
  const takesBody = rule.body === "*";
  const input = rpc.method.input;
  const pathFields = parameterNames(template).map((name) => fieldNamed(input, name));
  const pathReaders = pathFields.map((field) => ({ field, read: parameterReader(field) }));
  const rest = input.fields.filter((field) => !pathFields.includes(field));
  const queryFields = takesBody ? rest.filter((field) => sourceOf(field) === RestSource.QUERY) : rest;
  const maskField = rest.find((field) => sourceOf(field) === RestSource.BODY_KEYS);

  const elsewhere = new Map<string, string>([
    ...pathFields.map((field) => [field.jsonName, `${field.jsonName} belongs in the path.`] as const),
    ...queryFields.map((field) => [field.jsonName, `${field.jsonName} belongs in the query.`] as const),
  ]);
  if (maskField !== undefined)
    elsewhere.set(maskField.jsonName, `${maskField.jsonName} is derived from the keys of the body and cannot be sent.`);
  const readBody = takesBody ? createMessageReader(input, { lenient: rpc.lenientBody, elsewhere }) : undefined;
  const readQuery = createQueryReader(queryFields.filter((field) => field !== maskField));

  return {
    rpc,
    httpMethod,
    template,
    takesBody,
    build: (parameters, query, body) => {
      if (readBody !== undefined && body === undefined && !rpc.lenientBody)
        throw invalid("body", "A JSON body is required.");
      const message = readBody === undefined ? create(input) : readBody(body ?? {}, "");
      if (maskField !== undefined) Reflect.set(message, maskField.localName, maskOf(body ?? {}, input));
      readQuery(query, message);
      for (const { field, read } of pathReaders)
        setField(message, field, read(parameters[field.name] ?? "", field.jsonName));
      return message;
    },
  };
}

/** The field mask of a body: its keys except those that are `null`. */
function maskOf(body: JsonObject, input: DescMessage): Message {
  const paths = input.fields
    .filter((field) => Object.hasOwn(body, field.jsonName) && body[field.jsonName] !== null)
    .map((field) => field.name);
  return create(FieldMaskSchema, { paths });
}

function fieldNamed(input: DescMessage, name: string): DescField {
  const field = input.fields.find((each) => each.name === name);
  if (field?.fieldKind !== "scalar") throw new Error(`${input.typeName} has no scalar field ${name} for its path`);
  return field;
}

function sourceOf(field: DescField): RestSource {
  return getOption(field, rest_source);
}
