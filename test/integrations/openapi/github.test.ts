import { existsSync, readFileSync } from "node:fs";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { parseDocument } from "../../../src/integrations/openapi/document.ts";
import { operationsOf } from "../../../src/integrations/openapi/operations.ts";

/** GitHub's real document. The package weighs 385 MB, so it is no dependency: `npm install --no-save @octokit/openapi@23.0.2`. */
const FILE = "node_modules/@octokit/openapi/generated/api.github.com.json";

describe.skipIf(!existsSync(FILE))("GitHub's document of 1,223 operations", () => {
  it("becomes as many tools with distinct names, every schema valid Draft 7", { timeout: 120_000 }, () => {
    const operations = operationsOf(parseDocument(readFileSync(FILE, "utf8")), {
      category: undefined,
      credentialProperty: "api_token",
    });
    expect(operations).toHaveLength(1_223);
    expect(new Set(operations.map(({ tool }) => tool.name)).size).toBe(1_223);
    const faults: string[] = [];
    for (const { tool } of operations) {
      if (!/^[A-Za-z0-9_-]{1,64}$/.test(tool.name)) faults.push(tool.name);
      for (const schema of [tool.inputSchema, tool.outputSchema ?? {}]) {
        const ajv = new Ajv({ strict: false, logger: false });
        addFormats.default(ajv);
        if (ajv.validateSchema(schema) !== true) faults.push(`${tool.name}: ${ajv.errorsText()}`);
        ajv.compile(schema);
      }
    }
    expect(faults).toEqual([]);
  });
});
