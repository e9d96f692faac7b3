import { pino } from "pino";
import { Agent } from "undici";
import { createMcpIntegration } from "../../src/integrations/mcp/mcp-integration.ts";
import type { RelayedClient } from "../../src/integrations/relayed-client.ts";
import type { CallOptions, Target } from "../../src/integrations/target.ts";
import type { ToolDefinition } from "../../src/integrations/tool.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json.ts";
import { createOwnerLogin } from "./client-login.ts";

/** A scenario of `conformance client`. */
export interface ClientScenario {
  readonly scenario: string;
  /** The scenario's server. */
  readonly url: string;
  /** What the scenario prescribes. */
  readonly context: JsonObject;
}

const LIMIT_MS = 60_000;

/**
 * Uses everything that the scenario's server offers, as a connection to it does. Scenarios of authorization require
 * that its owner authorizes the connection first. Returns what happened; some failures are expected.
 */
export async function runClientScenario({ scenario, url, context }: ClientScenario): Promise<string> {
  const needsLogin = scenario.startsWith("auth/");
  const { client_id: clientId, client_secret: clientSecret } = context;
  const target: Target = {
    accountId: "1",
    connectionId: 1,
    keyVersion: 1,
    authMethod: needsLogin ? "oauth2" : "configured",
    configuration: {
      url,
      ...(typeof clientId === "string" && { oauth_client_id: clientId }),
      ...(typeof clientSecret === "string" && { oauth_client_secret: clientSecret }),
    },
  };
  const options: CallOptions = { signal: AbortSignal.timeout(LIMIT_MS), client: ACCEPTING };
  const dispatcher = new Agent();
  const login = createOwnerLogin(target, dispatcher, options.signal);
  const integration = createMcpIntegration({
    dispatcher,
    checkDestination: () => undefined,
    log: pino({ level: "silent" }),
    authorization: login.authorization,
    ...(needsLogin && { tokens: login.tokens }),
  });
  const events: string[] = [];
  const attempt = async (what: () => Promise<unknown>): Promise<void> => {
    await what().then(
      (result) => events.push(JSON.stringify(result) ?? ""),
      (error: unknown) => events.push(String(error)),
    );
  };

  async function useEverything(): Promise<void> {
    const { listTools, callTool, features } = integration;
    await attempt(async () => {
      const tools = await listTools(target, options);
      for (const tool of tools) await attempt(() => callTool(target, tool, argumentsOf(tool, tools, context), options));
      return tools.map(({ name }) => name);
    });
    const listing = await features?.listFeatures(target, options).catch((error: unknown) => {
      events.push(String(error));
    });
    for (const { key: uri } of listing?.resources ?? [])
      await attempt(async () => features?.request(target, { method: "resources/read", uri }, options));
    for (const { key: name } of listing?.prompts ?? [])
      await attempt(async () => features?.request(target, { method: "prompts/get", name, args: undefined }, options));
  }

  try {
    if (needsLogin) await login.authorize(undefined);
    await useEverything();
    const lacking = login.lacking();
    if (lacking !== undefined) {
      await login.authorize(lacking);
      await useEverything();
    }
    return events.join("\n");
  } finally {
    integration.close();
    await dispatcher.destroy();
  }
}

/** A client that accepts every form with its defaults. */
const ACCEPTING: RelayedClient = {
  capabilities: { elicitation: { form: {} } },
  audience: "the client of the suite",
  input: undefined,
  ask: async ({ params }) => ({
    kind: "result",
    result: { action: "accept", content: valuesOf(params["requestedSchema"], Object.keys) },
  }),
  notify: () => undefined,
};

/** The arguments that the scenario prescribes for a tool, or the required ones. */
function argumentsOf(tool: ToolDefinition, tools: readonly ToolDefinition[], { toolCalls }: JsonObject): JsonObject {
  // Its scenario compares the schema of the other tool as the client received it.
  if (tool.name === "json_schema_echo") {
    const other = tools.find(({ name }) => name !== tool.name);
    return { schema: (JSON.parse(other?.json ?? "{}") as JsonObject)["inputSchema"] ?? {} };
  }
  const prescribed = Array.isArray(toolCalls) ? toolCalls.filter(isJsonObject) : [];
  const call = prescribed.find(({ name }) => name === tool.name);
  if (isJsonObject(call?.["arguments"])) return call["arguments"];
  return valuesOf(tool.inputSchema, () => tool.inputSchema["required"] as string[]);
}

/** A value for each of the chosen properties: its default, or one of its type. */
function valuesOf(schema: JsonValue | undefined, choose: (properties: JsonObject) => readonly string[]): JsonObject {
  const properties = isJsonObject(schema) && isJsonObject(schema["properties"]) ? schema["properties"] : {};
  return Object.fromEntries(choose(properties).map((name) => [name, valueOf(properties[name])]));
}

const VALUES: Readonly<Record<string, JsonValue>> = { string: "text", integer: 1, number: 1, boolean: true };

function valueOf(schema: JsonValue | undefined): JsonValue {
  if (!isJsonObject(schema)) return "text";
  return schema["default"] ?? VALUES[String(schema["type"])] ?? {};
}
