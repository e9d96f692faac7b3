import type { LookupFunction } from "node:net";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { createMcpIntegration, type McpIntegrationDeps } from "../../../src/integrations/mcp/mcp-integration.ts";
import type { Target } from "../../../src/integrations/target.ts";
import type { CallResult, ToolDefinition } from "../../../src/integrations/tool.ts";
import type { JsonObject } from "../../../src/json.ts";
import { checkDestination } from "../../../src/outbound/check-destination.ts";
import { startScriptedUpstream, type Script, type ScriptedUpstream } from "./scripted-upstream.ts";
import { createGuardedDispatcher } from "../../../src/outbound/guarded-dispatcher.ts";

/** Timeouts that a test shortens. */
export type Times = Pick<McpIntegrationDeps, "timeoutMs" | "sessionIdleMs">;

/** The integration with a real guarded dispatcher that allows the given upstreams, and its log. */
export function createSubject(urls: readonly string[], times: Times = {}, lookup?: LookupFunction) {
  const allow = urls.map((url) => new URL(url).host);
  const lines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  const dispatcher = createGuardedDispatcher({ allow, ...(lookup !== undefined && { lookup }) });
  const integration = createMcpIntegration({
    ...times,
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

/** A scripted upstream and an integration that calls it, for the running test. */
export async function upstream(script: Partial<Record<string, Script>>, times?: Times): Promise<Subject> {
  const server = await startScriptedUpstream(script);
  const subject = createSubject([server.url], times);
  onTestFinished(async () => {
    await subject.close();
    server.close();
  });
  return { server, ...subject };
}

/** The result of `upstream`. */
export type Subject = ReturnType<typeof createSubject> & { readonly server: ScriptedUpstream };

/** Calls a tool named `work` over a new connection. */
export function call(subject: Subject, configuration: JsonObject = {}): Promise<CallResult> {
  return subject.integration.callTool(target(subject.server.url, configuration), tool("work"), {}, patient());
}

let lastConnectionId = 0;

/** A new connection to an upstream. */
export function target(url: string, configuration: JsonObject = {}): Target {
  lastConnectionId += 1;
  return { accountId: "1", connectionId: lastConnectionId, keyVersion: 1, configuration: { url, ...configuration } };
}

/** A tool in the format of a listing. */
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

/** Call options with a signal that is never aborted. */
export function patient(): { signal: AbortSignal } {
  return { signal: new AbortController().signal };
}

/** The text of a result's first block. */
export function textOf(result: { content: readonly JsonObject[] }): string {
  const text = result.content[0]?.text;
  return typeof text === "string" ? text : "";
}
