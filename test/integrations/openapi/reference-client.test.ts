import { existsSync, readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readContract } from "../../../src/integrations/openapi/contract.ts";
import { parseDocument, type OpenApiDocument } from "../../../src/integrations/openapi/document.ts";
import type { Operation } from "../../../src/integrations/openapi/operation.ts";
import { operationsOf } from "../../../src/integrations/openapi/operations.ts";
import { buildRequest, UnsendableArgument } from "../../../src/integrations/openapi/requests/request.ts";
import type { JsonObject } from "../../../src/json.ts";
import { argumentsOf } from "./arbitrary.ts";
import { hasReferenceClient, ourRequest, referenceRequest } from "./reference-client.ts";

const SEED = 20_261_121;
const FOLDER = "openapi/integrations";
const GITHUB = "node_modules/@octokit/openapi/generated/api.github.com.json";
const ADDRESS = "https://api.test";
const KEY = "key-0123456789";

/** What our contracts call their schemes, with what swagger-client wants for each. */
const SECURITIES: JsonObject = {
  token: { value: KEY },
  api_key: { value: KEY },
  key: { username: KEY, password: "x" },
  account: { username: "ava@example.com", password: KEY },
};
const CONFIGURATION: JsonObject = { token: KEY, api_key: KEY, api_token: KEY, email: "ava@example.com" };

/** Operations whose requests differ, and why. */
const DIFFERENT: Readonly<Record<string, string>> = {
  upload_employee_file: "swagger-client leaves multipart bodies to FormData, and has no text to compare",
  create_subscription:
    "swagger-client writes a list in deepObject as JSON; Stripe's SDK numbers its places, and so do we",
};

/** Compares requests for arguments drawn at random; answers how many there were. */
function compare(document: OpenApiDocument, operation: Operation, count: number): number {
  let compared = 0;
  for (const args of fc.sample(argumentsOf(operation.tool.inputSchema), { seed: SEED, numRuns: count })) {
    const ours = oursOrNone(operation, args);
    if (ours === undefined) continue;
    expect(ours, operation.tool.name).toEqual(referenceRequest(document, operation, args, ADDRESS, SECURITIES));
    compared += 1;
  }
  return compared;
}

/** Undefined for arguments that we do not send: an empty path parameter, one that leads upwards. */
function oursOrNone(operation: Operation, args: JsonObject): ReturnType<typeof ourRequest> | undefined {
  try {
    return ourRequest(buildRequest(operation, args, { origin: ADDRESS, basePath: "" }, CONFIGURATION));
  } catch (error) {
    if (error instanceof UnsendableArgument) return undefined;
    throw error;
  }
}

describe.skipIf(!hasReferenceClient)("the request that leaves is the one that swagger-client builds", () => {
  it.each(readdirSync(FOLDER).filter((name) => name.endsWith(".yaml")))("for every operation of %s", (file) => {
    const text = readFileSync(`${FOLDER}/${file}`, "utf8");
    const document = parseDocument(text);
    for (const operation of readContract(text).operations)
      if (DIFFERENT[operation.tool.name] === undefined) expect(compare(document, operation, 10)).toBeGreaterThan(0);
  });

  it.skipIf(!existsSync(GITHUB))("for 200 operations of GitHub's document", { timeout: 120_000 }, () => {
    const document = parseDocument(readFileSync(GITHUB, "utf8"));
    const operations = operationsOf(document, { category: undefined, credentialProperty: "api_token" });
    const some = fc.shuffledSubarray([...operations], { minLength: 200, maxLength: 200 });
    const [drawn = []] = fc.sample(some, { seed: SEED, numRuns: 1 });
    expect(new Set(drawn.map(({ tool }) => tool.name)).size).toBe(200);
    const counts = drawn.map((operation) => compare(document, operation, 5));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(900);
  });
});
