import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readContract } from "../../../src/integrations/openapi/contract.ts";
import { parsePlan, printPlan } from "../../../src/integrations/openapi/model/operation-text.ts";

const FOLDER = new URL("../../../openapi/integrations/", import.meta.url);

const files = readdirSync(FOLDER).filter((name) => name.endsWith(".yaml"));

test.each(files)("serializes and restores every operation of %s without a change", (file) => {
  const { operations } = readContract(readFileSync(new URL(file, FOLDER), "utf8"));
  for (const operation of operations) expect(parsePlan(operation.tool, printPlan(operation))).toEqual(operation);
});
