import type { Principal } from "../identity/principal.ts";
import type { ToolDefinition } from "../integrations/tool.ts";
import type { Connection } from "./connection.ts";

/** A tool of one connection. */
export interface ConnectionTool {
  /** The interned name: what `disabled_tools` holds. */
  readonly id: number;
  readonly definition: ToolDefinition;
  /** Whether the owner leaves it switched on. Under `individual`, a tool the owner has not seen is off. */
  readonly enabled: boolean;
  /** What the upstream would have it be. Its owner has not accepted that, so `definition` stays in force. */
  readonly proposed?: ToolDefinition;
}

/** The tools of connections, from cache. */
export interface ConnectionTools {
  /**
   * Every tool, switched off or not, by name. The same array until the connection or its upstream's list changes.
   * Never throws for an upstream that is down: then it is the last known list, or an empty one.
   */
  of(connection: Connection): readonly ConnectionTool[] | Promise<readonly ConnectionTool[]>;
}

const READING = ["mcp.read", "mcp.write", "mgmt.read", "mgmt.write", "mgmt.admin"] as const;
const WRITING = ["mcp.write", "mgmt.write", "mgmt.admin"] as const;

/** Whether a token allows what only reads. */
export function mayRead({ scopes }: Principal): boolean {
  return READING.some((scope) => scopes.has(scope));
}

/** Whether a principal may use a tool: the token allows it, the access level allows it, and it is switched on (DESIGN §6). */
export function isVisible(principal: Principal, connection: Connection, tool: ConnectionTool): boolean {
  const { readOnly } = tool.definition;
  if (!tool.enabled || (connection.accessType === "read" && !readOnly)) return false;
  return (readOnly ? READING : WRITING).some((scope) => principal.scopes.has(scope));
}
