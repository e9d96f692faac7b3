import { pino } from "pino";
import { createMcpIntegration } from "../../../src/integrations/mcp/mcp-integration.ts";
import type { Target } from "../../../src/integrations/integration.ts";
import type { ToolDefinition } from "../../../src/integrations/tool.ts";
import type { JsonObject } from "../../../src/json.ts";
import { checkDestination } from "../../../src/outbound/check-destination.ts";
import { createGuardedDispatcher } from "../../../src/outbound/guarded-dispatcher.ts";

/** The integration over a real guarded dispatcher that may call the given upstreams, and what it logged. */
export function createSubject(...urls: readonly string[]) {
  const allow = urls.map((url) => new URL(url).host);
  const lines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  const dispatcher = createGuardedDispatcher({ allow });
  const integration = createMcpIntegration({
    dispatcher,
    checkDestination: (url) => checkDestination(url, allow),
    log,
  });
  return {
    integration,
    logged: () => lines.join(""),
    close: async () => {
      integration.close();
      await dispatcher.destroy();
    },
  };
}

let lastConnectionId = 0;

/** A connection of its own to an upstream. */
export function target(url: string, configuration: JsonObject = {}): Target {
  lastConnectionId += 1;
  return { accountId: "1", connectionId: lastConnectionId, keyVersion: 1, configuration: { url, ...configuration } };
}

/** A tool as if it had been listed. */
export function tool(name: string, more: Partial<ToolDefinition> = {}): ToolDefinition {
  return {
    name,
    description: "",
    inputSchema: { type: "object" },
    annotations: { audience: ["user", "assistant"], requiresAuth: false },
    readOnly: false,
    ...more,
  };
}

/** Options of a call that nobody aborts. */
export function patient(): { signal: AbortSignal } {
  return { signal: new AbortController().signal };
}

/** The text of a result's first block. */
export function textOf(result: { content: readonly JsonObject[] }): string {
  return String(result.content[0]?.text);
}
