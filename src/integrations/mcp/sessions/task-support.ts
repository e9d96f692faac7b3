import { isJsonObject } from "../../../json.ts";
import { MISSING_CAPABILITY, RpcError } from "../../rpc-error.ts";
import type { RelayedClient } from "../../relayed-client.ts";
import { declaresTasks, TASKS_CAPABILITY, TASKS_EXTENSION } from "../../tasks.ts";
import type { ToolDefinition } from "../../tool.ts";
import type { UpstreamSession } from "./session.ts";

/** Whether a server of 2025-11-25 can continue calls as tasks. */
export function hasSessionTasks({ revision, capabilities: { tasks } }: UpstreamSession): boolean {
  const requests = isJsonObject(tasks) ? tasks.requests : undefined;
  const tools = isJsonObject(requests) ? requests.tools : undefined;
  return revision === "legacy" && isJsonObject(tools) && isJsonObject(tools.call);
}

/**
 * Whether a call must ask for a task. In 2025-11-25 the client of a server decides that; clients of 2026-07-28 leave it to
 * their server. Throws RpcError if the tool works only as a task and the client of 2026-07-28 does not declare tasks.
 */
export function needsTask(session: UpstreamSession, tool: ToolDefinition, client: RelayedClient | undefined): boolean {
  if (client?.input === undefined || !hasSessionTasks(session)) return false;
  const support = taskSupportOf(tool);
  if (declaresTasks(client.capabilities)) return support === "optional" || support === "required";
  if (support !== "required") return false;
  throw new RpcError({
    code: MISSING_CAPABILITY,
    message: `This tool works only as a task: the client must declare the extension ${TASKS_EXTENSION}.`,
    data: { requiredCapabilities: TASKS_CAPABILITY },
  });
}

function taskSupportOf({ json = "{}" }: ToolDefinition): unknown {
  const tool: unknown = JSON.parse(json);
  const execution = isJsonObject(tool) ? tool.execution : undefined;
  return isJsonObject(execution) ? execution.taskSupport : undefined;
}
