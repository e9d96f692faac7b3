import { createHash } from "node:crypto";
import {
  isJsonObject,
  parseJson,
  printInKeyOrder,
  roundNumbers,
  type JsonObject,
  type JsonValue,
} from "../../../json.ts";
import type { ToolDefinition, ToolHints } from "../../tool.ts";
import { keepFields } from "./listed-fields.ts";
import { listedToolText } from "./listed-text.ts";
import { mirroredParameters } from "../sessions/request-metadata.ts";

/** Printable, at most 128 characters: the specification allows fewer, but some servers use more. */
const TOOL_NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,128}$/u;

/** PostgreSQL stores neither NUL nor unpaired surrogates. */
const UNSTORABLE = /\\u0000|\\ud[89a-f]/i;

/**
 * Returns the tool, or the reason why it is unusable. `text` is the tool as the server wrote it. Only `readOnlyHint:
 * true` makes it read-only, since a missing hint promises nothing.
 */
export function readTool(value: JsonValue, text: string, requiresAuth: boolean): ToolDefinition | string {
  if (!isJsonObject(value)) return "it is not an object";
  const { name, description, inputSchema, outputSchema, annotations: hints, _meta: meta } = value;
  if (typeof name !== "string" || !TOOL_NAME.test(name) || name.trim() !== name) return "its name cannot be used";
  const schema = readInputSchema(inputSchema);
  if (mirroredParameters(schema) === undefined) return "an x-mcp-header mark of its schema breaks the protocol";
  if (UNSTORABLE.test(JSON.stringify([schema, outputSchema]))) return "its schema holds characters that are no text";
  const fields = keepFields(value, ["title", "icons", "annotations", "_meta"]);
  const listed = UNSTORABLE.test(JSON.stringify(fields)) ? {} : fields;
  const category = isJsonObject(meta) ? meta.category : undefined;
  const title = typeof value.title === "string" ? value.title : isJsonObject(hints) ? hints.title : undefined;
  return {
    name,
    description: plain(typeof description === "string" && description !== "" ? description : title),
    inputSchema: schema,
    ...(isJsonObject(outputSchema) ? { outputSchema: roundNumbers(outputSchema) } : {}),
    annotations: {
      // MCP does not state an audience for tools.
      audience: ["user", "assistant"],
      requiresAuth,
      ...(typeof category === "string" && category !== "" && category.length <= 64
        ? { category: plain(category) }
        : {}),
    },
    readOnly: isJsonObject(hints) && hints.readOnlyHint === true,
    ...hintsOf(hints),
    digest: digestOf(value),
    ...(Object.keys(listed).length > 0 ? { listed } : {}),
    json: listedToolText(value, text),
  };
}

/** Every field reaches agents, so the digest covers every field, except the plain mark for tasks. */
function digestOf({ execution, ...tool }: JsonObject): string {
  const digested = execution === undefined || isTaskMark(execution) ? tool : { ...tool, execution };
  return createHash("sha256").update("mcp\n").update(printInKeyOrder(digested)).digest("base64url");
}

const TASK_SUPPORT: readonly (JsonValue | undefined)[] = ["forbidden", "optional", "required"];

function isTaskMark(execution: JsonValue): boolean {
  return (
    isJsonObject(execution) &&
    Object.keys(execution).every((key) => key === "taskSupport") &&
    TASK_SUPPORT.includes(execution.taskSupport)
  );
}

function hintsOf(annotations: JsonValue | undefined): { readonly hints?: ToolHints } {
  if (!isJsonObject(annotations)) return {};
  const { destructiveHint: destructive, idempotentHint: idempotent, openWorldHint: openWorld } = annotations;
  const hints: ToolHints = {
    ...(typeof destructive === "boolean" && { destructive }),
    ...(typeof idempotent === "boolean" && { idempotent }),
    ...(typeof openWorld === "boolean" && { openWorld }),
  };
  return Object.keys(hints).length === 0 ? {} : { hints };
}

/**
 * Adds `type`, `properties` and `required`, which the service promises of every tool, and rounds numbers that
 * validators cannot represent.
 */
function readInputSchema(value: JsonValue | undefined): JsonObject {
  const { properties, required, ...rest } = isJsonObject(value) ? roundNumbers(value) : {};
  return {
    ...rest,
    type: "object",
    properties: isJsonObject(properties) ? properties : {},
    required: Array.isArray(required) ? required : [],
  };
}

function plain(text: JsonValue | undefined): string {
  return typeof text === "string" ? text.toWellFormed().replaceAll("\0", "") : "";
}

/** Reads a stored tool again from its text, because storage does not keep the order of keys. */
export function restoreTool(stored: ToolDefinition): ToolDefinition {
  const { json, digest, ttlMs, annotations } = stored;
  if (json === undefined) return stored;
  const tool = readTool(parseJson(json, { maxDepth: Infinity }), json, annotations.requiresAuth);
  if (typeof tool === "string") return stored;
  return { ...tool, ...(digest !== undefined && { digest }), ...(ttlMs !== undefined && { ttlMs }) };
}
