import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";

/** A request that awaits an answer. */
export interface RpcRequest {
  readonly kind: "request";
  /** The id as JSON, so that it goes back digit by digit. */
  readonly id: string;
  readonly method: string;
  readonly params: JsonObject;
}

/** A message that awaits none. */
export interface RpcNotification {
  readonly kind: "notification";
  readonly method: string;
  readonly params: JsonObject;
}

/** A JSON-RPC message from a client. We ask clients nothing, so what they answer means nothing. */
export type RpcMessage = RpcRequest | RpcNotification | { readonly kind: "response" };

const NO_PARAMS: JsonObject = {};

/** What a JSON value says as a JSON-RPC 2.0 message of MCP: ids are text or whole numbers, params an object. Undefined when it is none. */
export function readMessage(value: JsonValue): RpcMessage | undefined {
  if (!isJsonObject(value) || value.jsonrpc !== "2.0") return undefined;
  const { id, method, params = NO_PARAMS } = value;
  if (method === undefined) {
    return (value.result !== undefined || isJsonObject(value.error)) && isId(id) ? { kind: "response" } : undefined;
  }
  if (typeof method !== "string" || !isJsonObject(params)) return undefined;
  if (id === undefined) return { kind: "notification", method, params };
  return isId(id) ? { kind: "request", id: JSON.stringify(id), method, params } : undefined;
}

/** The id of what may be no message at all, for the error that answers it. Undefined when there is none to name. */
export function idOf(value: JsonValue): string | undefined {
  return isJsonObject(value) && isId(value.id) ? JSON.stringify(value.id) : undefined;
}

/** Whether a value can be the id of a request; an integer beyond 2^53 is an exact number. */
export function isId(value: JsonValue | undefined): boolean {
  if (typeof value === "number") return Number.isInteger(value);
  return typeof value === "string" || (JSON.isRawJSON(value) && /^-?\d+$/.test(JSON.stringify(value)));
}

/** The text of an answer with a result. */
export function resultText(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

/** The text of an answer with an error. Without an id to name, none is given (2025-11-25, «Streamable HTTP»). */
export function errorText(
  id: string | undefined,
  error: { readonly code: number; readonly message: string; readonly data?: JsonValue | undefined },
): string {
  const { code, message, data } = error;
  const body = JSON.stringify({ code, message, ...(data !== undefined && { data }) });
  return `{"jsonrpc":"2.0",${id === undefined ? "" : `"id":${id},`}"error":${body}}`;
}

/** The text of a notification. */
export function notificationText(method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}
