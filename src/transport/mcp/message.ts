import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";

export interface RpcRequest {
  readonly kind: "request";
  /** The id as JSON, which keeps all digits of a number. */
  readonly id: string;
  readonly method: string;
  readonly params: JsonObject;
}

export interface RpcNotification {
  readonly kind: "notification";
  readonly method: string;
  readonly params: JsonObject;
}

/** A client's answer to a request of an upstream. */
export interface RpcResponse {
  readonly kind: "response";
  readonly message: JsonObject;
}

export type RpcMessage = RpcRequest | RpcNotification | RpcResponse;

const NO_PARAMS: JsonObject = {};

/** Parses a JSON-RPC 2.0 message of MCP: ids are strings or integers, and params an object. Returns undefined for anything else. */
export function readMessage(value: JsonValue): RpcMessage | undefined {
  if (!isJsonObject(value) || value.jsonrpc !== "2.0") return undefined;
  const { id, method } = value;
  const params = value.params ?? NO_PARAMS;
  if (method === undefined) {
    const isAnswer = value.result !== undefined || isJsonObject(value.error);
    return isAnswer && isId(id) ? { kind: "response", message: value } : undefined;
  }
  if (typeof method !== "string" || !isJsonObject(params)) return undefined;
  if (id === undefined) return { kind: "notification", method, params };
  return isId(id) ? { kind: "request", id: JSON.stringify(id), method, params } : undefined;
}

/** The id of a possibly malformed message, for its error response. */
export function idOf(value: JsonValue): string | undefined {
  return isJsonObject(value) && isId(value.id) ? JSON.stringify(value.id) : undefined;
}

/** Whether a value is a valid request id; integers beyond 2^53 are exact numbers. */
export function isId(value: JsonValue | undefined): boolean {
  if (typeof value === "number") return Number.isInteger(value);
  return typeof value === "string" || (JSON.isRawJSON(value) && /^-?\d+$/.test(JSON.stringify(value)));
}

export function resultText(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

/** Omits the id if it is unknown (2025-11-25, "Streamable HTTP"). */
export function errorText(
  id: string | undefined,
  error: { readonly code: number; readonly message: string; readonly data?: JsonValue | undefined },
): string {
  const { code, message, data } = error;
  const body = JSON.stringify({ code, message, ...(data !== undefined && { data }) });
  return `{"jsonrpc":"2.0",${id === undefined ? "" : `"id":${id},`}"error":${body}}`;
}

export function requestText(id: string, method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

export function notificationText(method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}
