import type { Schemas, Sent } from "../../api/schemas.ts";

/** A connection in both of its shapes, as its page shows it. */
export interface ShownConnection {
  readonly listed: Schemas["Connection"];
  readonly details: Schemas["ConnectionDetails"];
}

/** What a connection will be once a change is saved, as far as that can be known before: its switches and its access. */
export function asChanged(shown: ShownConnection, change: Sent<"UpdateConnectionRequest">): ShownConnection {
  const { agent_enabled, access_type, disabled_tools, accept_tool_changes, keep_contents_days, alias } = change;
  const { listed, details } = shown;
  // What does not work stays so whatever agents may.
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
