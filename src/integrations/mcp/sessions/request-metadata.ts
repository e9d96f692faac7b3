import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import type { Relay } from "../../relay.ts";
import { CLIENT_CAPABILITIES, CLIENT_INFO, MODERN_REVISION } from "./session.ts";

const CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities";

/** `params._meta` of every request of the 2026-07-28 revision. */
const REQUEST_META: JsonObject = {
  "io.modelcontextprotocol/protocolVersion": MODERN_REVISION,
  "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
  [CAPABILITIES_KEY]: CLIENT_CAPABILITIES,
};

/** Returns `params._meta`, or undefined when it is empty. `id` is the progress token. */
export function requestMeta(
  revision: "legacy" | "modern",
  id: number,
  relay: Relay | undefined,
): JsonObject | undefined {
  const progress = relay?.onProgress === undefined ? undefined : { progressToken: id };
  const trace = relay?.trace?.meta;
  if (revision === "legacy") return trace === undefined ? progress : { ...trace, ...progress };
  // Without a level a modern server must not send log messages.
  const level = relay?.onMessage === undefined ? undefined : (relay.logLevel ?? "info");
  return {
    ...REQUEST_META,
    ...trace,
    ...(relay?.client !== undefined && { [CAPABILITIES_KEY]: relay.client.capabilities }),
    ...(level === undefined ? {} : { "io.modelcontextprotocol/logLevel": level }),
    ...progress,
  };
}

/** Alternating header names and values that mirror a request's method and name (2026-07-28, «Request Metadata»). */
export function mirrorHeaders(method: string, name?: string): readonly string[] {
  return ["mcp-method", method, ...(name === undefined ? [] : ["mcp-name", encodeHeader(name)])];
}

/** Headers that mirror the arguments marked with `x-mcp-header`. */
export function argumentHeaders(inputSchema: JsonObject, args: JsonObject): readonly string[] {
  return (mirroredParameters(inputSchema) ?? []).flatMap(({ header, path }) => {
    const value = path.reduce<JsonValue | undefined>(
      (at, key) => (isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined),
      args,
    );
    if (typeof value === "string") return [`mcp-param-${header}`, encodeHeader(value)];
    const isPrimitive = typeof value === "boolean" || typeof value === "number" || JSON.isRawJSON(value);
    return isPrimitive ? [`mcp-param-${header}`, JSON.stringify(value)] : [];
  });
}

/** A parameter that is also sent as `Mcp-Param-<header>`, and its path in the arguments. */
export interface MirroredParameter {
  readonly header: string;
  readonly path: readonly string[];
}

const MARK = "x-mcp-header";

/**
 * Returns the marked parameters, or undefined when a mark breaks the rules: a unique token, on a string, integer or
 * boolean reached only through `properties`. Clients must not offer such a tool.
 */
export function mirroredParameters(inputSchema: JsonObject): readonly MirroredParameter[] | undefined {
  const found: MirroredParameter[] = [];
  const visit = (schema: JsonValue | undefined, path: readonly string[]): void => {
    if (!isJsonObject(schema)) return;
    const { [MARK]: header, type, properties } = schema;
    if (typeof header === "string" && (type === "string" || type === "integer" || type === "boolean")) {
      found.push({ header, path });
    }
    if (!isJsonObject(properties)) return;
    for (const [key, value] of Object.entries(properties)) visit(value, [...path, key]);
  };
  visit(inputSchema, []);
  const names = new Set(found.map(({ header }) => header.toLowerCase()));
  const areTokens = found.every(({ header }) => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/.test(header));
  return areTokens && names.size === found.length && countMarks(inputSchema) === found.length ? found : undefined;
}

/** Counts marks anywhere in a schema, to detect misplaced ones. */
function countMarks(schema: JsonValue, inProperties = false): number {
  if (Array.isArray(schema)) return schema.reduce<number>((sum, item) => sum + countMarks(item), 0);
  if (!isJsonObject(schema)) return 0;
  const own = !inProperties && Object.hasOwn(schema, MARK) ? 1 : 0;
  return Object.entries(schema).reduce(
    (sum, [key, item]) => sum + countMarks(item, !inProperties && key === "properties"),
    own,
  );
}

/** Uses Base64 for values that a header cannot carry. */
function encodeHeader(value: string): string {
  const isPlain = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return isPlain ? value : `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`;
}
