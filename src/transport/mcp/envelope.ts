import { isJsonObject, type JsonObject } from "../../json.ts";
import type { HttpExchange } from "../http/exchange.ts";
import type { RpcNotification, RpcRequest } from "./message.ts";
import { decodeHeader } from "./param-headers.ts";
import { CODES, headerMismatch, RpcFault } from "./rpc-fault.ts";
import { singleHeader } from "./single-header.ts";

/** The supported revision without sessions. */
export const MODERN_VERSION = "2026-07-28";

const PREFIX = "io.modelcontextprotocol/";
const VERSION_KEY = `${PREFIX}protocolVersion`;
const CAPABILITIES_KEY = `${PREFIX}clientCapabilities`;
const CLIENT_KEY = `${PREFIX}clientInfo`;

/** The `_meta` entries of a request of 2026-07-28. */
export interface Envelope {
  readonly capabilities: JsonObject;
  /** Not validated here. */
  readonly logLevel: unknown;
}

/** The body field that `Mcp-Name` repeats, by method. */
const NAME_FIELDS: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** Whether a message belongs to a revision without sessions, according to its `_meta` or else its header. */
export function isModern(exchange: HttpExchange, message: RpcRequest | RpcNotification): boolean {
  const { _meta: meta } = message.params;
  if (isJsonObject(meta) && meta[VERSION_KEY] !== undefined) return true;
  return message.method !== "initialize" && namesModern(exchange);
}

/** Whether the version header names 2026-07-28 or later. */
export function namesModern(exchange: HttpExchange): boolean {
  const version = singleHeader(exchange, "mcp-protocol-version");
  return version !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= MODERN_VERSION;
}

/** Reads the `_meta` entries and checks the headers that repeat them, in the order of the specification. Throws RpcFault. */
export function readEnvelope(exchange: HttpExchange, request: RpcRequest): Envelope {
  const { params, method } = request;
  const meta = isJsonObject(params._meta) ? params._meta : {};
  const { [VERSION_KEY]: version, [CAPABILITIES_KEY]: capabilities, [CLIENT_KEY]: client } = meta;
  if (typeof version !== "string") throw incomplete(VERSION_KEY, version === undefined);
  if (!isJsonObject(capabilities)) throw incomplete(CAPABILITIES_KEY, capabilities === undefined);
  if (client !== undefined && !isJsonObject(client)) throw incomplete(CLIENT_KEY, false);
  mustMirror(exchange, "MCP-Protocol-Version", version);
  if (version !== MODERN_VERSION) {
    throw new RpcFault(CODES.unsupportedVersion, `Unsupported protocol version: ${version.slice(0, 64)}`, {
      httpStatus: 400,
      data: { supported: [MODERN_VERSION], requested: version.slice(0, 64) },
    });
  }
  mustMirror(exchange, "Mcp-Method", method);
  const name = params[NAME_FIELDS.get(method) ?? ""];
  if (typeof name === "string") mustMirror(exchange, "Mcp-Name", name);
  return { capabilities, logLevel: meta[`${PREFIX}logLevel`] };
}

/** Whether a client declared all of these capabilities, and each of these extensions. */
export function declaresAll(declared: JsonObject, wanted: JsonObject): boolean {
  return Object.entries(wanted).every(([name, value]) => {
    const own = declared[name];
    if (name !== "extensions" || !isJsonObject(own) || !isJsonObject(value)) return own !== undefined;
    return Object.keys(value).every((extension) => own[extension] !== undefined);
  });
}

function mustMirror(exchange: HttpExchange, header: string, expected: string): void {
  const value = singleHeader(exchange, header.toLowerCase());
  if (value === expected) return;
  if (value === undefined) throw headerMismatch(`The header ${header} is required.`);
  if (header === "Mcp-Name" && decodeHeader(value) === expected) return;
  throw headerMismatch(`The header ${header} does not match the body.`);
}

function incomplete(key: string, isMissing: boolean): RpcFault {
  const problem = isMissing ? "is required" : "has the wrong type";
  return new RpcFault(CODES.invalidParams, `_meta["${key}"] ${problem} in every request of ${MODERN_VERSION}.`, {
    httpStatus: 400,
  });
}
