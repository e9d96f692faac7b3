import type { Schemas, Sent } from "../../api/schemas.ts";

/** A connection in both shapes. */
export interface ShownConnection {
  readonly listed: Schemas["Connection"];
  readonly details: Schemas["ConnectionDetails"];
}

/** Applies a change to a connection before it is saved, as far as the result is known: its switches and its access. */
export function asChanged(shown: ShownConnection, change: Sent<"UpdateConnectionRequest">): ShownConnection {
  const { agent_enabled, access_type, disabled_tools, accept_tool_changes, keep_contents_days, alias } = change;
  const { listed, details } = shown;
  // A failed status does not depend on the access.
  const isSwitched = agent_enabled !== undefined && /^(active|disabled)$/.test(details.status);
  return {
    listed: {
      ...listed,
      ...(agent_enabled !== undefined && { agent_enabled }),
      ...(access_type !== undefined && { access_type }),
      ...(disabled_tools !== undefined && { disabled_tools }),
    },
    details: {
      ...details,
      ...(isSwitched && { status: agent_enabled ? "active" : "disabled" }),
      ...(accept_tool_changes !== undefined && { accept_tool_changes }),
      ...(keep_contents_days !== undefined && { keep_contents_days }),
      ...(typeof alias === "string" && { alias }),
    },
  };
}
