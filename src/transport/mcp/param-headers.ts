import { isUtf8 } from "node:buffer";
import { mirroredParameters, type MirroredParameter } from "../../integrations/mcp/sessions/request-metadata.ts";
import type { ToolDefinition } from "../../integrations/tool.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { headerMismatch } from "./rpc-fault.ts";
import { singleHeader } from "./single-header.ts";

/** Checks that `Mcp-Param-*` headers match the arguments that the schema marks. Throws RpcFault. */
export type ParamHeaderCheck = (exchange: HttpExchange, tool: ToolDefinition, args: JsonObject) => void;

/** Caches the marked parameters of each schema. */
export function createParamHeaderCheck(): ParamHeaderCheck {
  const marks = new WeakMap<ToolDefinition, readonly MirroredParameter[]>();
  return (exchange, tool, args) => {
    let parameters = marks.get(tool);
    if (parameters === undefined) {
      parameters = mirroredParameters(tool.inputSchema) ?? [];
      marks.set(tool, parameters);
    }
    for (const parameter of parameters) checkParameter(exchange, parameter, args);
  };
}

function checkParameter(exchange: HttpExchange, { header, path }: MirroredParameter, args: JsonObject): void {
  const name = `Mcp-Param-${header}`;
  const value = valueAt(args, path);
  const text = textOf(value);
  // A value without a text form has no header.
  if (text === undefined) return;
  const sent = singleHeader(exchange, name.toLowerCase());
  if (sent === undefined) throw headerMismatch(`The header ${name} is required: the arguments carry its value.`);
  const decoded = decodeHeader(sent);
  if (decoded === undefined) throw headerMismatch(`The header ${name} is not valid Base64 of UTF-8.`);
  const isSame =
    decoded === text || (typeof value === "number" && /^-?\d+(\.\d+)?$/.test(decoded) && Number(decoded) === value);
  if (!isSame) throw headerMismatch(`The header ${name} does not match the arguments.`);
}

function valueAt(args: JsonObject, path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (at, key) => (isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined),
    args,
  );
}

function textOf(value: JsonValue | undefined): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "boolean" || typeof value === "number" || JSON.isRawJSON(value)
    ? JSON.stringify(value)
    : undefined;
}

const WRAPPED = /^=\?base64\?(.*)\?=$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Decodes a header with optional Base64 wrapping. Returns undefined if it is malformed. */
export function decodeHeader(value: string): string | undefined {
  const wrapped = WRAPPED.exec(value)?.[1];
  if (wrapped === undefined) return value;
  if (!BASE64.test(wrapped)) return undefined;
  const bytes = Buffer.from(wrapped, "base64");
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}
