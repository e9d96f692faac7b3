import { isUtf8 } from "node:buffer";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { DomainError } from "../../domain-error.ts";
import { isJsonObject, parseJson, type JsonObject } from "../../json.ts";
import { TransportError } from "./fault.ts";
import { bodyTooLarge, EMPTY_BODY, onlyHeader, type HeaderFields, type HttpExchange } from "./exchange.ts";

const inflate = promisify(gunzip);

/** Maximum depth of JSON over every protocol (DESIGN §8). */
export const MAX_JSON_DEPTH = 32;
/** Maximum number of values in a body: parsing and measuring this many takes less than 100 ms. */
export const MAX_JSON_VALUES = 100_000;

/** Maximum size in bytes of a form, and of JSON in place of a form. */
const MAX_FORM_BYTES = 16 * 1024;

const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(;|$)/i;

const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

/**
 * Reads and decompresses a JSON body. Returns an empty one if there is none, even with a Content-Type. Errors that the
 * headers already show are thrown at once.
 */
export function readJsonBytes(exchange: HttpExchange, maxBytes: number): Buffer | Promise<Buffer> {
  if (!exchange.hasBody) return EMPTY_BODY;
  const { headers } = exchange;
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  const typeIsJson = JSON_TYPE.test(headers["content-type"] ?? "");
  // Without a length, only reading shows whether there is a body.
  if (!typeIsJson && headers["content-length"] !== undefined) throw notJsonType();
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (encoding !== "identity" && encoding !== "gzip") {
    throw unsupportedType("Content-Encoding must be gzip or identity.", { "accept-encoding": "gzip, identity" });
  }
  const body = exchange.readBody(maxBytes);
  return typeIsJson && encoding === "identity" ? body : readOther(body, typeIsJson, maxBytes);
}

/** Reads a JSON object of at most 16 KiB. Requires the JSON type even for an empty body. */
export async function readJsonForm(exchange: HttpExchange): Promise<JsonObject | undefined> {
  if (!JSON_TYPE.test(onlyHeader(exchange, "content-type") ?? "")) throw notJsonType();
  return parseJsonBody(await readJsonBytes(exchange, MAX_FORM_BYTES));
}

/** Whether the request has a form's content type. */
export function isForm(exchange: HttpExchange): boolean {
  return FORM_TYPE.test(onlyHeader(exchange, "content-type") ?? "");
}

/** Reads a form of at most 16 KiB. Throws TransportError for another type or a larger body. */
export async function readForm(exchange: HttpExchange): Promise<URLSearchParams> {
  const accept = "application/x-www-form-urlencoded";
  if (!isForm(exchange)) throw unsupportedType(`Content-Type must be ${accept}.`, { accept });
  return new URLSearchParams((await exchange.readBody(MAX_FORM_BYTES)).toString("utf8"));
}

/** Handles compressed bodies and other content types. Another type is an error only if the body is not empty. */
async function readOther(body: Buffer | Promise<Buffer>, typeIsJson: boolean, maxBytes: number): Promise<Buffer> {
  const bytes = await body;
  if (bytes.byteLength === 0) return bytes;
  if (!typeIsJson) throw notJsonType();
  return decompress(bytes, maxBytes);
}

/** Parses the JSON object in a body. Returns undefined if there is none. Throws DomainError `invalid`. */
export function parseJsonBody(bytes: Buffer): JsonObject | undefined {
  return bytes.byteLength === 0 ? undefined : parseObject(bytes);
}

async function decompress(bytes: Buffer, maxBytes: number): Promise<Buffer> {
  try {
    return await inflate(bytes, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (cause instanceof RangeError) throw bodyTooLarge(maxBytes);
    throw new DomainError("invalid", "The request body is not valid gzip.", { cause, reason: "MALFORMED_REQUEST" });
  }
}

function parseObject(bytes: Buffer): JsonObject {
  if (!isUtf8(bytes)) throw malformed("The request body is not valid UTF-8.");
  const json = parse(bytes.toString("utf8"));
  if (!isJsonObject(json)) throw malformed("The request body must be a JSON object.");
  return json;
}

function parse(text: string): unknown {
  try {
    return parseJson(text, { maxDepth: MAX_JSON_DEPTH, maxValues: MAX_JSON_VALUES, uniqueKeys: true });
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    const sentence = cause.cause === undefined ? cause.message : "The request body is not valid JSON.";
    throw malformed(sentence, cause);
  }
}

function malformed(sentence: string, cause?: unknown): DomainError {
  return new DomainError("invalid", sentence, { cause, field: "body", reason: "MALFORMED_REQUEST" });
}

function notJsonType(): TransportError {
  return unsupportedType("Content-Type must be application/json.", { accept: "application/json" });
}

function unsupportedType(sentence: string, headers: HeaderFields): TransportError {
  return new TransportError("invalid", sentence, { httpStatus: 415, reason: "UNSUPPORTED_MEDIA_TYPE", headers });
}
