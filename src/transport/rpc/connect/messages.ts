import { isUtf8 } from "node:buffer";
import {
  create,
  fromBinary,
  fromJson,
  fromJsonString,
  isMessage,
  toBinary,
  type DescMessage,
  type Message,
} from "@bufbuild/protobuf";
import { isFieldError } from "@bufbuild/protobuf/reflect";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type { ServedRpc } from "../calls.ts";
import { invalid, type DomainError } from "../../../domain-error.ts";
import { isJsonObject, type JsonValue } from "../../../json.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { isTimestampField } from "../message-fields.ts";

/**
 * Large enough that the JSON depth limit of every protocol applies first; one level of JSON uses up to three levels of
 * messages.
 */
const RECURSION_LIMIT = 400;

/** Reads a message in proto JSON, unknown fields ignored. Throws ConnectError `invalid_argument`. */
export function parseJsonMessage(bytes: Buffer, rpc: ServedRpc): Message {
  if (bytes.length === 2 && bytes[0] === 0x7b && bytes[1] === 0x7d) return create(rpc.method.input);
  if (!isUtf8(bytes)) throw new ConnectError("the request is not valid UTF-8", Code.InvalidArgument);
  try {
    return fromJsonString(rpc.method.input, bytes.toString("utf8"), JSON_READ_OPTIONS);
  } catch (cause) {
    throw fieldAtFault(cause, rpc) ?? timeAtFault(bytes, rpc) ?? ConnectError.from(cause, Code.InvalidArgument);
  }
}

/** Reports a value of the wrong type as REST does, with its request field. */
function fieldAtFault(thrown: unknown, rpc: ServedRpc): DomainError | undefined {
  if (!(thrown instanceof Error) || !isFieldError(thrown.cause)) return undefined;
  const field = thrown.cause.field();
  return field.kind === "field" && field.parent === rpc.method.input
    ? invalid(field.jsonName, thrown.message)
    : undefined;
}

/** protobuf-es does not say which field holds a time that it cannot read. */
function timeAtFault(bytes: Buffer, rpc: ServedRpc): DomainError | undefined {
  const json = parseJson(bytes);
  if (!isJsonObject(json)) return undefined;
  const field = rpc.method.input.fields.find(
    (each) => isTimestampField(each) && !isTime(json[each.jsonName] ?? json[each.localName] ?? null),
  );
  return field && invalid(field.jsonName, `${field.jsonName} must be an RFC 3339 time such as 2026-07-01T09:00:00Z.`);
}

function isTime(json: JsonValue): boolean {
  try {
    return json === null || isMessage(fromJson(TimestampSchema, json));
  } catch {
    return false;
  }
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Reads a binary message. Throws ConnectError `invalid_argument`. */
export function parseBinaryMessage(bytes: Uint8Array, rpc: ServedRpc): Message {
  if (bytes.byteLength === 0) return create(rpc.method.input);
  try {
    return fromBinary(rpc.method.input, bytes, BINARY_READ_OPTIONS);
  } catch (cause) {
    const sentence = cause instanceof Error ? cause.message : "not protobuf";
    throw new ConnectError(`the request is not a valid message: ${sentence}`, Code.InvalidArgument);
  }
}

/** Writes the result of an implementation as a binary message. */
export function writeBinary(output: DescMessage, message: object): Uint8Array {
  return toBinary(output, create(output, { ...message }));
}

/** JSON options, for both the fast path and Connect's own handlers. */
export const JSON_READ_OPTIONS = { ignoreUnknownFields: true, recursionLimit: RECURSION_LIMIT } as const;

/** Binary options, for both the fast path and Connect's own handlers. */
export const BINARY_READ_OPTIONS = { recursionLimit: RECURSION_LIMIT } as const;

/** The first value of a header. */
export function headerOf(exchange: HttpExchange, name: string): string | undefined {
  const value = exchange.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
