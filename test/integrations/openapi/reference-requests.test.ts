import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import { type ComparableRequest, operationsOfDocument, ourRequest, RECORDED_DOCUMENTS } from "./reference-client.ts";

interface Recorded {
  readonly document: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly request: ComparableRequest;
}

const FILE = new URL("reference-requests.jsonl", import.meta.url);
const recorded = readFileSync(FILE, "utf8").trimEnd().split("\n").map(readRecorded);

function readRecorded(line: string): Recorded {
  return JSON.parse(line) as Recorded;
}

it.each(RECORDED_DOCUMENTS)("builds the same requests as swagger-client for the operations of %s", (path) => {
  const { operations } = operationsOfDocument(path);
  const requests = recorded.filter(({ document }) => document === path);
  expect(requests.length, "Record them: npm run record:requests").toBeGreaterThan(0);
  for (const { tool, arguments: args, request } of requests) {
    const operation = operations.find((each) => each.tool.name === tool);
    if (operation === undefined) throw new Error(`${tool} is gone. Record again: npm run record:requests`);
    expect(ourRequest(operation, args), tool).toEqual(request);
  }
});
