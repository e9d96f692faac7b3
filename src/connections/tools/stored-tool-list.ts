import { createHash } from "node:crypto";
import type { Integration } from "../../integrations/integration.ts";
import { printCanonicalTool, type ToolDefinition } from "../../integrations/tool.ts";
import type { StoredToolList } from "./tool-list-store.ts";

/** The age at which a list is fetched again in the background, in milliseconds. */
export const FRESH_MS = 60_000;
/** The minimum of this age, however short the upstream's time to live is. */
const MIN_FRESH_MS = 5_000;

/** The order of keys does not count: some servers print them in another order each time. */
export function digestOfList(tools: readonly ToolDefinition[]): string {
  const hash = createHash("sha256");
  for (const tool of tools) hash.update(printCanonicalTool(tool)).update("\n");
  return hash.digest("base64url");
}

/** The list, completed with what storage does not keep. */
export function restored(
  integration: Pick<Integration, "restoreTool">,
  { tools, digest }: StoredToolList,
): Pick<StoredToolList, "tools" | "digest"> {
  return { tools: tools.map((tool) => integration.restoreTool?.(tool) ?? tool), digest };
}

/** The upstream's time to live, within limits, in milliseconds. */
export function freshMs({ tools }: Pick<StoredToolList, "tools">): number {
  return Math.max(MIN_FRESH_MS, Math.min(tools[0]?.ttlMs ?? FRESH_MS, FRESH_MS));
}
