import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { parseOpenApi } from "../../../src/integrations/openapi/model/document.ts";
import { operationsOf } from "../../../src/integrations/openapi/operations.ts";

describe("20 operations of GitHub's document", () => {
  const text = readFileSync(new URL("github.yaml", import.meta.url), "utf8");
  const operations = operationsOf(parseOpenApi(text), { category: undefined, credentialProperty: "api_token" });

  it("become the same number of tools with distinct names", () => {
    expect(operations).toHaveLength(20);
    expect(new Set(operations.map(({ tool }) => tool.name)).size).toBe(20);
  });

  it.each(operations.map(({ tool }) => tool))("become $name with a valid name and valid Draft 7 schemas", (tool) => {
    expect(tool.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    for (const schema of [tool.inputSchema, tool.outputSchema ?? {}]) {
      const ajv = new Ajv({ strict: false, logger: false });
      addFormats.default(ajv);
      expect(ajv.validateSchema(schema), ajv.errorsText()).toBe(true);
      expect(() => ajv.compile(schema)).not.toThrow();
    }
  });
});
