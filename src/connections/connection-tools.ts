import type { Principal } from "../identity/principal.ts";
import type { ToolDefinition } from "../integrations/tool.ts";
import type { Connection } from "./connection.ts";

export interface ConnectionTool {
  /** The id of the tool's name, as in `disabled_tools`. */
  readonly id: number;
  readonly definition: ToolDefinition;
  /** Whether the tool is enabled. Under `individual`, new tools are disabled. */
  readonly enabled: boolean;
  /** The upstream's definition, if it differs and the owner has not accepted it. */
  readonly proposed?: ToolDefinition;
}

export interface ConnectionTools {
  /**
   * Returns all tools, enabled or not, sorted by name: the same array until the connection or its upstream's list
   * changes. If the upstream is down, returns the last known list or an empty one.
   */
  of(connection: Connection): readonly ConnectionTool[] | Promise<readonly ConnectionTool[]>;
}

const READING = ["mcp.read", "mcp.write", "mgmt.read", "mgmt.write", "mgmt.admin"] as const;
const WRITING = ["mcp.write", "mgmt.write", "mgmt.admin"] as const;

/** Whether a token allows reading. */
export function mayRead({ scopes }: Principal): boolean {
  return READING.some((scope) => scopes.has(scope));
}

/** Whether a principal may use a tool: its token and the access level allow it, and the tool is enabled (DESIGN §6). */
export function isVisible(principal: Principal, connection: Connection, tool: ConnectionTool): boolean {
  const { readOnly } = tool.definition;
  if (!tool.enabled || (connection.accessType === "read" && !readOnly)) return false;
  return (readOnly ? READING : WRITING).some((scope) => principal.scopes.has(scope));
}
