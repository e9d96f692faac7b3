import type { ToolDefinition } from "../../integrations/tool.ts";
import type { ListedTool } from "./session-tools.ts";

/** The longest list of tools that a session with the setting `tool_search` gets. */
export const MAX_LISTED_TOOLS = 100;
/** Number of tools that one call of `find_tools` returns by default. */
export const DEFAULT_FIND_LIMIT = 10;
const MAX_FIND_LIMIT = 50;
const MAX_QUERY_LENGTH = 200;

export const FIND_TOOLS: ToolDefinition = {
  name: "find_tools",
  description:
    "Finds tools by what they do. There are too many to list them all: describe in a few words what you want to get done, and " +
    "get the tools that fit best, with the schemas of their arguments. Then call one with call_tool.",
  inputSchema: {
    type: "object",
    properties: {
      query: {
        type: "string",
        minLength: 1,
        maxLength: MAX_QUERY_LENGTH,
        description: "What the tool should do, and where, in words, such as: create issue github",
      },
      limit: {
        type: "integer",
        minimum: 1,
        maximum: MAX_FIND_LIMIT,
        description: `How many tools to return. Left out means ${DEFAULT_FIND_LIMIT}.`,
      },
    },
    required: ["query"],
    additionalProperties: false,
  },
  outputSchema: {
    type: "object",
    properties: {
      tools: {
        type: "array",
        description: "The tools, best first.",
        items: {
          type: "object",
          properties: {
            name: { type: "string", description: "The name to call it by." },
            description: { type: "string" },
            inputSchema: { type: "object", description: "JSON Schema of its arguments." },
            readOnly: { type: "boolean", description: "Whether it only reads." },
            connection: { type: "string", description: "The name of the connection it belongs to." },
          },
          required: ["name", "description", "inputSchema", "readOnly", "connection"],
        },
      },
      total_count: { type: "integer", description: "How many tools were found in all." },
    },
    required: ["tools", "total_count"],
  },
  annotations: { audience: ["assistant"], requiresAuth: false },
  readOnly: true,
  hints: { openWorld: false },
};

/** The hints allow every effect, because `call_tool` can call any tool. */
export const CALL_TOOL: ToolDefinition = {
  name: "call_tool",
  description: "Calls a tool that find_tools has found, and returns what it returns.",
  inputSchema: {
    type: "object",
    properties: {
      name: { type: "string", minLength: 1, description: "The name of the tool, as find_tools gives it." },
      arguments: { type: "object", description: "The arguments, by the tool's inputSchema. Left out means none." },
    },
    required: ["name"],
    additionalProperties: false,
  },
  annotations: { audience: ["assistant"], requiresAuth: true },
  readOnly: false,
  hints: { destructive: true, idempotent: false, openWorld: true },
};

/** The tools that are listed instead of a long list, sorted by name. */
export const META_TOOLS: readonly ListedTool[] = [CALL_TOOL, FIND_TOOLS].map((definition) => ({
  name: definition.name,
  definition,
}));

export function isMetaToolName(name: string): boolean {
  return name === CALL_TOOL.name || name === FIND_TOOLS.name;
}
