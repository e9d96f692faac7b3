import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { readContract } from "../../../src/integrations/openapi/contract.ts";
import type { JsonObject } from "../../../src/json.ts";
import { contractText, createSubject, KEY, textOf, type Subject } from "./subject.ts";
import { json } from "./upstream.ts";

const ERROR_ANSWERS: JsonObject = {
  pointer: "/ok",
  equals: false,
  code: "/error",
  details: ["/needed", "/response_metadata/messages"],
  statuses: { invalid_auth: 401, missing_scope: 403, channel_not_found: 404 },
};

/** The contract with `error_answers`, and a read with a constant header. */
function contract(errorAnswers: JsonObject): string {
  const version = { name: "Acme-Version", in: "header", required: true, schema: { const: "2025-09-03" } };
  const paths = { "/things": { get: { operationId: "list", parameters: [version] } } };
  const root = parse(contractText(paths)) as Record<string, JsonObject>;
  return stringify({
    ...root,
    "x-patchbay-integration": { ...root["x-patchbay-integration"], error_answers: errorAnswers },
  });
}

let server: Server;
let subject: Subject;
let answer: unknown;
let status = 200;
let version: unknown;

beforeAll(async () => {
  server = createServer((request, response) => {
    version = request.headers["acme-version"];
    json(response, status, answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  subject = createSubject(contract(ERROR_ANSWERS), `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

afterAll(async () => {
  await subject.close();
  server.closeAllConnections();
  server.close();
});

describe("a 2xx response whose content reports a failure", () => {
  it("returns a failed call with the vendor's error code and a remedy", async () => {
    answer = { ok: false, error: "channel_not_found" };
    const result = await subject.call("list");
    expect(result).toMatchObject({ isError: true });
    expect(textOf(result)).toMatch(/^Acme answered 200 with an error: channel_not_found\. There is nothing there/);
  });

  it("includes the details of the error", async () => {
    answer = { ok: false, error: "missing_scope", needed: "chat:write", response_metadata: { messages: ["a", "b"] } };
    expect(textOf(await subject.call("list"))).toContain(
      "missing_scope: chat:write: a; b. The connection's key is not",
    );
  });

  it("fails the verification only if it rejects the key", async () => {
    answer = { ok: false, error: "invalid_auth" };
    const refused = await subject.verify();
    expect(refused).toMatchObject({ outcome: "failed" });
    expect("reason" in refused && refused.reason).toContain("invalid_auth");
    answer = { ok: false, error: "fatal_error" };
    expect(await subject.verify()).toMatchObject({ outcome: "retry" });
    answer = { ok: true };
    expect(await subject.verify()).toEqual({ outcome: "verified" });
  });

  it("never contains the key", async () => {
    answer = { ok: false, error: `bad key ${KEY}` };
    expect(textOf(await subject.call("list"))).not.toContain(KEY);
  });

  it.each([{ ok: true, error: "none" }, { ok: "false" }, {}, ["x"], null])("%j is not an error", async (other) => {
    answer = other;
    expect(await subject.call("list")).toMatchObject({ isError: false });
  });

  it("does not change an error status", async () => {
    [answer, status] = [{ ok: false, error: "ratelimited" }, 429];
    expect(textOf(await subject.call("list"))).toContain("answered 429. It says: ratelimited.");
    status = 200;
  });

  it.each<[string, JsonObject]>([
    ["no value to compare", { pointer: "/ok", code: "/error" }],
    ["no location of the error", { pointer: "/ok", equals: false }],
    ["a location that is not a JSON Pointer", { pointer: "ok", equals: false, code: "/error" }],
  ])("a contract with %s is refused", (_title, errorAnswers) => {
    expect(() => readContract(contract(errorAnswers))).toThrow('"error_answers"');
  });
});

describe("a required parameter with one possible value", () => {
  it("is sent without being an argument", async () => {
    [answer, version] = [{ ok: true }, undefined];
    await subject.call("list");
    expect(version).toBe("2025-09-03");
    const [, list] = await subject.integration.listTools(
      { accountId: "a", connectionId: 1, keyVersion: 1, configuration: {} },
      { signal: new AbortController().signal },
    );
    expect(list?.inputSchema).toEqual({ type: "object", properties: {}, additionalProperties: false });
    await expect(subject.call("list", { "Acme-Version": "2020-01-01" })).rejects.toThrow("Acme-Version");
  });
});
