import type { Host } from "./host.ts";
import { INSPECTOR_CLI, MCP_REMOTE } from "./program-hosts.ts";
import { SDK_V1, SDK_V2, SDK_V2_SESSIONS } from "./sdk-hosts.ts";

/** The hosts that need nothing besides the project. */
export const LOCAL_HOSTS: readonly Host[] = [SDK_V1, SDK_V2_SESSIONS, SDK_V2, MCP_REMOTE, INSPECTOR_CLI];
