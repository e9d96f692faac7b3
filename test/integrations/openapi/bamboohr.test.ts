import { readFile } from "node:fs/promises";
import { Agent } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Integration } from "../../../src/integrations/integration.ts";
import type { Target } from "../../../src/integrations/target.ts";
import { createSchemaValidator } from "../../../src/integrations/schema-checks/json-schema.ts";
import { readContract } from "../../../src/integrations/openapi/contract.ts";
import { createOpenApiIntegration } from "../../../src/integrations/openapi/openapi-integration.ts";
import type { CallResult, ToolDefinition } from "../../../src/integrations/tool.ts";
import type { JsonObject } from "../../../src/json.ts";
import { startPrism, type Prism } from "./prism.ts";

const CONTRACT = "openapi/integrations/bamboohr.yaml";
const KEY = "0123456789abcdef0123456789abcdef01234567";
const target: Target = {
  accountId: "a",
  connectionId: 1,
  keyVersion: 1,
  configuration: { company_domain: "acme", api_token: KEY },
};
const dispatcher = new Agent();
const validator = createSchemaValidator();
let prism: Prism;
let bamboohr: Integration;
let tools: ReadonlyMap<string, ToolDefinition>;

beforeAll(async () => {
  prism = await startPrism(CONTRACT);
  bamboohr = createOpenApiIntegration(readContract(await readFile(CONTRACT, "utf8")), {
    dispatcher,
    baseUrl: prism.url,
  });
  const listed = await bamboohr.listTools(target, { signal: new AbortController().signal });
  tools = new Map(listed.map((tool) => [tool.name, tool]));
});

afterAll(async () => {
  await prism.stop();
  await dispatcher.close();
});

async function call(name: string, args: JsonObject): Promise<CallResult> {
  const tool = tools.get(name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  expect(await validator.validate(tool.inputSchema, args, "acc_1")).toBeUndefined();
  return bamboohr.callTool(target, tool, args, { signal: new AbortController().signal });
}

/** Arguments for every operation. Every parameter occurs at least once. */
const CASES: Readonly<Record<string, readonly JsonObject[]>> = {
  get_company_information: [{}],
  list_employees: [
    {},
    {
      filter: { lastName: "O'Brien & sons", status: "active", ids: "123,124" },
      sort: "-lastName,firstName",
      fields: ["workEmail", "departmentName"],
      page: { limit: 10, after: "bmV4dA==" },
    },
  ],
  create_employee: [{ firstName: "Ava", lastName: "Smith", hireDate: "2026-02-01", customShoeSize: "39" }],
  get_employee_directory: [{}, { onlyCurrent: false }],
  list_changed_employees: [{ since: "2026-01-01T00:00:00+01:00", type: "updated" }],
  get_employee: [{ id: "0" }, { id: "123", fields: "firstName,jobTitle", onlyCurrent: false }],
  update_employee: [{ id: "123", jobTitle: "Senior Designer", workEmail: "ava@example.com" }],
  get_employee_table_rows: [{ id: "all", table: "jobInfo" }],
  add_employee_table_row: [{ id: "123", table: "jobInfo", date: "2026-02-01", teams: ["Web", "App"] }],
  get_employee_photo: [{ employeeId: 123, size: "small", width: 20, height: 20 }],
  list_employee_files: [{ id: "123" }],
  get_employee_file: [{ id: "123", fileId: 501 }],
  upload_employee_file: [
    {
      id: "123",
      fileName: "Contract",
      category: 11,
      share: "no",
      file: { content: "JVBERi0xLjQ=", filename: "contract.pdf", media_type: "application/pdf" },
    },
  ],
  list_fields: [{}],
  list_tables: [{}],
  list_list_fields: [{}],
  list_users: [{}, { status: "enabled" }],
  list_time_off_requests: [
    { start: "2026-02-01", end: "2026-02-28" },
    {
      start: "2026-02-01",
      end: "2026-02-28",
      id: 1348,
      employeeId: 123,
      action: "approve",
      type: "78,79",
      status: ["approved", "requested"],
    },
  ],
  create_time_off_request: [
    {
      employeeId: 123,
      status: "requested",
      start: "2026-02-16",
      end: "2026-02-17",
      timeOffTypeId: 78,
      amount: 2,
      notes: [{ from: "employee", note: "Skiing" }],
      dates: [{ ymd: "2026-02-16", amount: 1 }],
    },
  ],
  change_time_off_request_status: [{ requestId: 1348, status: "approved", note: "Have fun" }],
  list_whos_out: [{}, { start: "2026-02-01", end: "2026-02-28", filter: "off" }],
  list_time_off_types: [{}, { mode: "request" }],
  list_time_off_policies: [{}],
  list_employee_time_off_policies: [{ employeeId: 123 }],
  get_time_off_balance: [{ employeeId: 123, end: "2026-12-31", precision: 1 }],
  adjust_time_off_balance: [{ employeeId: 123, date: "2026-02-01", timeOffTypeId: 78, amount: -1.5, note: "Sold" }],
};

describe("every operation of BambooHR's contract builds a request that the contract allows", () => {
  it("every operation has a test case", () => {
    expect([...tools.keys()].sort()).toEqual(Object.keys(CASES).sort());
  });

  it.each(Object.entries(CASES).flatMap(([name, list]) => list.map((args): [string, JsonObject] => [name, args])))(
    "%s %j",
    async (name, args) => {
      const result = await call(name, args);
      expect(result).toMatchObject({ isError: false });
      const schema = tools.get(name)?.outputSchema;
      if (schema !== undefined)
        expect(await validator.validate(schema, result.structuredContent, "acc_1")).toBeUndefined();
    },
  );
});

describe("converts responses to MCP content", () => {
  it("returns an object as text and structured content", async () => {
    const result = await call("get_company_information", {});
    expect(result.structuredContent).toMatchObject({ displayName: "Acme", address: { city: "Lindon" } });
    expect(JSON.parse(result.content[0]?.text as string)).toEqual(result.structuredContent);
  });

  it("returns a list as text", async () => {
    const result = await call("list_whos_out", {});
    expect(result.structuredContent).toBeUndefined();
    expect(JSON.parse(result.content[0]?.text as string)).toHaveLength(2);
  });

  it("returns a photo as an image with the type of its bytes", async () => {
    const [image] = (await call("get_employee_photo", { employeeId: 1, size: "tiny" })).content;
    expect(image).toMatchObject({ type: "image", mimeType: "image/gif" });
    expect(Buffer.from(image?.data as string, "base64").toString("latin1")).toMatch(/^GIF89a/);
  });

  it("returns a file as an embedded resource", async () => {
    const [block] = (await call("get_employee_file", { id: "1", fileId: 501 })).content;
    const blob = Buffer.from("%PDF-1.4 a contract").toString("base64");
    expect(block).toEqual({
      type: "resource",
      resource: { uri: "patchbay://bamboohr/get_employee_file/content", mimeType: "application/octet-stream", blob },
    });
  });

  it("returns a sentence for an empty response", async () => {
    const result = await call("change_time_off_request_status", { requestId: 1, status: "denied" });
    expect(result).toEqual({ content: [{ type: "text", text: "Done (200)." }], isError: false });
  });

  it("returns the URL of a created object", async () => {
    const result = await call("upload_employee_file", CASES.upload_employee_file?.[0] ?? {});
    expect(result.content[0]?.text).toBe("Done (201). Location: https://acme.bamboohr.com/api/v1/employees/124");
  });
});

describe("the contract determines the configuration of a connection", () => {
  it("verifies the key with a real call", async () => {
    expect(await bamboohr.verify(target, { signal: new AbortController().signal })).toEqual({ outcome: "verified" });
  });

  it("distinguishes reads from writes", () => {
    const writes = [...tools.values()].filter(({ readOnly }) => !readOnly).map(({ name }) => name);
    expect(writes).toEqual([
      "create_employee",
      "update_employee",
      "add_employee_table_row",
      "upload_employee_file",
      "create_time_off_request",
      "change_time_off_request_status",
      "adjust_time_off_balance",
    ]);
  });

  it("names the secret, credential and destination properties", () => {
    expect(bamboohr).toMatchObject({
      serverType: "bamboohr",
      title: "BambooHR",
      secretProperties: ["api_token"],
      credentialProperty: "api_token",
      destinationProperties: ["company_domain"],
    });
  });

  it.each([
    "acme.evil.com",
    "acme/",
    "acme@evil",
    "-acme",
    "acme-",
    "",
    "a".repeat(64),
    "acme:8080",
    "acme%2e",
    "acme\n",
    "äcme",
  ])("rejects the company domain %j", (domain) => {
    const configuration = { company_domain: domain, api_token: KEY };
    expect(validator.validateOwn(bamboohr.configurationSchema, configuration)).toContain('"company_domain"');
    expect(() => bamboohr.checkConfiguration?.(configuration)).toThrow("company_domain");
  });

  it("rejects an unknown configuration key and accepts a valid configuration", () => {
    expect(validator.validateOwn(bamboohr.configurationSchema, { ...target.configuration, url: "" })).toContain(
      '"url"',
    );
    expect(validator.validateOwn(bamboohr.configurationSchema, target.configuration)).toBeUndefined();
  });
});
