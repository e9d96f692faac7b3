import { readFileSync } from "node:fs";
import { Agent } from "undici";
import { stringify } from "yaml";
import type { Integration, Verification } from "../../../src/integrations/integration.ts";
import type { Target } from "../../../src/integrations/target.ts";
import { createSchemaValidator } from "../../../src/integrations/schema-checks/json-schema.ts";
import { readContract } from "../../../src/integrations/openapi/contract.ts";
import type { ExchangeLimits } from "../../../src/integrations/upstream-exchange.ts";
import { createOpenApiIntegration } from "../../../src/integrations/openapi/openapi-integration.ts";
import type { CallResult } from "../../../src/integrations/tool.ts";
import type { JsonObject } from "../../../src/json.ts";

export const KEY = "key-0123456789/abc+def";

/** A contract with the given paths, a Basic key and a verification at `/me`. */
export function contractText(paths: JsonObject, more: JsonObject = {}): string {
  return stringify({
    openapi: "3.1.0",
    info: { title: "Acme", description: "A vendor.", version: "1" },
    "x-patchbay-integration": {
      server_type: "acme",
      credential: "api_token",
      destination: ["site"],
      verification: "me",
      error_headers: ["X-Why"],
      configuration: {
        type: "object",
        additionalProperties: false,
        properties: { api_token: { type: "string", writeOnly: true }, site: { type: "string" } },
      },
    },
    servers: [{ url: "https://{site}.example.com/v2", variables: { site: { default: "www" } } }],
    security: [{ key: [] }],
    paths: { "/me": { get: { operationId: "me", responses: { "200": { description: "ok" } } } }, ...paths },
    components: {
      securitySchemes: { key: { type: "http", scheme: "basic", "x-patchbay-credential": { password: "x" } } },
    },
    ...more,
  });
}

/** An integration that calls a test server, with helpers for tests. */
export interface Subject {
  readonly integration: Integration;
  readonly call: (tool: string, args?: JsonObject, signal?: AbortSignal) => Promise<CallResult>;
  readonly verify: () => Promise<Verification>;
  readonly close: () => Promise<void>;
}

/** Creates an integration from the text of a contract that calls `baseUrl`. */
export function createSubject(
  text: string,
  baseUrl: string,
  options: { limits?: ExchangeLimits; configuration?: JsonObject } = {},
): Subject {
  const dispatcher = new Agent();
  const { limits } = options;
  const deps = { dispatcher, baseUrl, ...(limits === undefined ? {} : { limits }) };
  const integration = createOpenApiIntegration(readContract(text), deps);
  const validator = createSchemaValidator();
  const configuration = options.configuration ?? { api_token: KEY };
  const target: Target = { accountId: "a", connectionId: 1, keyVersion: 1, configuration };
  const never = new AbortController().signal;
  return {
    integration,
    async call(name, args = {}, signal = never) {
      const tool = (await integration.listTools(target, { signal })).find((candidate) => candidate.name === name);
      if (tool === undefined) throw new Error(`no tool ${name}`);
      const fault = await validator.validate(tool.inputSchema, args, "acc_1");
      if (fault !== undefined) throw new Error(fault);
      return integration.callTool(target, tool, args, { signal });
    },
    verify: () => integration.verify(target, { signal: never }),
    close: () => dispatcher.destroy(),
  };
}

/** The text of a result's first block. */
export function textOf(result: CallResult): string {
  return result.content[0]?.["text"] as string;
}

/** The BambooHR contract's text. */
export function bambooHr(): string {
  return readFileSync("openapi/integrations/bamboohr.yaml", "utf8");
}
