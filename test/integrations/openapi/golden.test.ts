import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import SwaggerParser from "@apidevtools/swagger-parser";
import fc from "fast-check";
import { Agent } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Integration } from "../../../src/integrations/integration.ts";
import type { Target } from "../../../src/integrations/target.ts";
import { createSchemaValidator } from "../../../src/integrations/schema-checks/json-schema.ts";
import { readContract } from "../../../src/integrations/openapi/contract.ts";
import { createOpenApiIntegration } from "../../../src/integrations/openapi/openapi-integration.ts";
import { createUpstreamRateLimiter } from "../../../src/integrations/upstream-rate-limiter.ts";
import type { ToolDefinition } from "../../../src/integrations/tool.ts";
import { isJsonObject, type JsonObject } from "../../../src/json.ts";
import { argumentsOf } from "./arbitrary.ts";
import { startPrism, type Prism } from "./prism.ts";
import { textOf } from "./subject.ts";

const FOLDER = "openapi/integrations";
const SEED = 20_261_121;
const RUNS = 12;
/** Requests that Prism cannot parse: it reads `items[0][price]` as an object. deep-object.test.ts checks them. */
const UNREADABLE = new Set(["create_subscription"]);
const never = new AbortController().signal;
const dispatcher = new Agent();
const validator = createSchemaValidator();
afterAll(() => dispatcher.close());

describe.each(readdirSync(FOLDER).filter((name) => name.endsWith(".yaml")))("%s", (file) => {
  const path = join(FOLDER, file);
  const contract = readContract(readFileSync(path, "utf8"));
  const tools = contract.operations.map(({ tool }) => tool);
  // The value that a form would send: the first example, or any valid value.
  const [configuration = {}] = fc.sample(argumentsOf(withExamples(contract.configurationSchema)), {
    seed: SEED,
    numRuns: 1,
  });
  const target: Target = { accountId: "a", connectionId: 1, keyVersion: 1, configuration };
  let prism: Prism;
  let integration: Integration;

  beforeAll(async () => {
    prism = await startPrism(path);
    // Advances the clock by an hour between calls, because Prism has no rate limits of the vendor.
    let clock = 0;
    const rateLimiter = createUpstreamRateLimiter({ now: () => (clock += 3_600_000) });
    integration = createOpenApiIntegration(contract, { dispatcher, baseUrl: prism.url, rateLimiter });
  });
  afterAll(() => prism.stop());

  it("is valid OpenAPI", async () => {
    await expect(SwaggerParser.validate(path)).resolves.toBeDefined();
  });

  it("accepts the configuration of its form, and is verified with a real call", async () => {
    expect(validator.validateOwn(contract.configurationSchema, configuration)).toBeUndefined();
    expect(() => integration.checkConfiguration?.(configuration)).not.toThrow();
    expect(await integration.verify(target, { signal: never })).toEqual({ outcome: "verified" });
  });

  it.each(tools.filter(({ name }) => !UNREADABLE.has(name)).map((tool): [string, ToolDefinition] => [tool.name, tool]))(
    "sends a request of %s that fits the contract, for any valid arguments",
    async (_name, tool) => {
      let sent = 0;
      const isWithoutInput = Object.keys(objectAt(tool.inputSchema, "properties")).length === 0;
      await fc.assert(
        fc.asyncProperty(argumentsOf(tool.inputSchema), async (args) => {
          expect(await validator.validate(tool.inputSchema, args, "acc_1")).toBeUndefined();
          const result = await integration.callTool(target, tool, args, { signal: never });
          // Prism returns a 4xx that describes the violation.
          if (result.isError) {
            expect(textOf(result)).toMatch(/must not be empty, "\." or "\.\."/);
            return;
          }
          sent += 1;
          if (tool.outputSchema === undefined) return;
          expect(await validator.validate(tool.outputSchema, result.structuredContent, "acc_1")).toBeUndefined();
        }),
        { seed: SEED, numRuns: isWithoutInput ? 1 : RUNS },
      );
      expect(sent).toBeGreaterThan(0);
    },
  );
});

/** The schema with properties reduced to their first example. */
function withExamples(schema: JsonObject): JsonObject {
  const properties = Object.entries(objectAt(schema, "properties")).map(([name, property]) => {
    const [example] = isJsonObject(property) && Array.isArray(property.examples) ? property.examples : [];
    return [name, example === undefined ? property : { const: example }];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

function objectAt(schema: JsonObject, key: string): JsonObject {
  const value = schema[key];
  return isJsonObject(value) ? value : {};
}
