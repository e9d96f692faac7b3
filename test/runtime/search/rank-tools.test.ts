import { describe, expect, test } from "vitest";
import type { Connection } from "../../../src/connections/connection.ts";
import { createToolRanking } from "../../../src/runtime/search/rank-tools.ts";
import type { ToolDefinition } from "../../../src/integrations/tool.ts";

function tool(name: string, description = "", more: Partial<ToolDefinition> = {}): ToolDefinition {
  const annotations = { audience: [], requiresAuth: false };
  return { name, description, inputSchema: { type: "object" }, annotations, readOnly: true, ...more };
}

function connection(id: number, name = "Acme", serverType = "mcp"): Connection {
  return {
    accountId: "acc_1",
    id,
    serverType,
    name,
    alias: `connection_${id}`,
    description: "",
    agentEnabled: true,
    accessType: "write",
    configuration: {},
    hasCredential: true,
    verificationStatus: "verified",
    statusReason: undefined,
    keyVersion: 1,
    authMethod: "configured",
    needsAuthorization: false,
    disabledToolIds: [],
    knownToolIds: undefined,
    acceptToolChanges: "manual",
    keepContentsDays: 0,
    callIdleSeconds: 0,
    callMaxSeconds: 0,
    acceptedDefinitions: undefined,
    changedTools: 0,
    oauthClientId: "conn_1",
    createdAt: new Date(0),
    updatedAt: new Date(0),
  };
}

/** Returns the names of the matching tools, best first. */
async function find(query: string, tools: readonly ToolDefinition[], page = { limit: 100, offset: 0 }) {
  const here = connection(1);
  const { items } = await createToolRanking().rank(
    query,
    tools.map((definition) => ({ connection: here, definition })),
    page,
  );
  return items.map(({ definition }) => definition.name);
}

const EMPLOYEES = [
  tool("get_employee", "Read one employee."),
  tool("list_employees", "List the employees of the company."),
  tool("get_employee_photo", "Read the photo of an employee."),
  tool("create_time_off_request", "Ask for days off."),
  tool("list_webhooks", "List where events about an employee go."),
];

describe("tool search finds a tool", () => {
  test.each([
    ["by its exact name", "get_employee"],
    ["by its name in words", "get employee"],
    ["by another form of the word", "getting employees"],
    ["independent of case", "GET EMPLOYEE"],
  ])("%s, before tools with fewer or more words", async (_, query) => {
    expect((await find(query, EMPLOYEES)).slice(0, 2)).toEqual(["get_employee", "get_employee_photo"]);
  });

  test("by a sentence, ignoring stop words", async () => {
    const found = await find("I want a tool that asks for time off for me", EMPLOYEES);
    expect(found[0]).toBe("create_time_off_request");
  });

  test("by the prefix of a word", async () => {
    expect(await find("webh", EMPLOYEES)).toEqual(["list_webhooks"]);
  });

  test("by the words of a camel case name or a path", async () => {
    const tools = [tool("listOpenPRs"), tool("repos/create-release"), tool("other")];
    expect(await find("open prs", tools)).toEqual(["listOpenPRs"]);
    expect(await find("create release", tools)).toEqual(["repos/create-release"]);
  });

  test("by title, category and parameters, with decreasing weight", async () => {
    const found = await find("payroll", [
      tool("a", "", { inputSchema: { type: "object", properties: { payroll: {} } } }),
      tool("b", "", { annotations: { audience: [], requiresAuth: false, category: "payroll" } }),
      tool("c", "", { listed: { title: "Payroll" } }),
      tool("d", "About payroll."),
    ]);
    expect(found).toEqual(["c", "b", "d", "a"]);
  });

  test.each([
    ["日程", "在日程表中创建会议"],
    ["créer", "Créer une réunion"],
    ["ｓｙｎｃ", "sync"],
  ])("by %s in other scripts and Unicode forms", async (query, description) => {
    expect(await find(query, [tool("x", description), tool("y", "nothing of it")])).toEqual(["x"]);
  });

  test("once, even if it contains the word several times", async () => {
    expect(await find("echo", [tool("echo_echo", "echo echo")])).toEqual(["echo_echo"]);
  });
});

test("a rare word weighs more than a common one", async () => {
  const many = Array.from({ length: 50 }, (_, index) => tool(`list_${index}`, "List things."));
  const found = await find("list invoices", [...many, tool("read_invoice", "Read one.")]);
  expect(found[0]).toBe("read_invoice");
});

test("a tool that matches all words precedes one that matches a single word well", async () => {
  const found = await find("delete branch", [
    tool("delete", "Delete anything."),
    tool("cleanup", "Delete a branch for good."),
  ]);
  expect(found).toEqual(["cleanup", "delete"]);
});

test("the name of a connection matches its tools", async () => {
  const [ours, theirs] = [connection(1, "Acme"), connection(2, "Globex", "github")];
  const definition = tool("create_issue", "Open an issue.");
  const candidates = [ours, theirs].map((one) => ({ connection: one, definition }));
  const ranking = createToolRanking();
  for (const query of ["create issue globex", "github: create issue"]) {
    const { items } = await ranking.rank(query, candidates, { limit: 10, offset: 0 });
    expect(items.map((item) => item.connection.id)).toEqual([2, 1]);
  }
});

test("pages contain every match once, in a stable order", async () => {
  const tools = Array.from({ length: 250 }, (_, index) => tool(`read_${index}`, index % 3 === 0 ? "Read a page." : ""));
  const whole = await find("read page", tools, { limit: 250, offset: 0 });
  const pages = await Promise.all([0, 100, 200].map((offset) => find("read page", tools, { limit: 100, offset })));
  expect(pages.flat()).toEqual(whole);
  expect(new Set(whole).size).toBe(250);
});

test("very long texts and words such as constructor do no harm", async () => {
  const endless = tool("endless", `${"a".repeat(1_000_000)} needle`);
  const odd = tool("constructor", "__proto__ toString", {
    inputSchema: { type: "object", properties: { constructor: {} } },
  });
  expect(await find("needle", [endless, odd])).toEqual([]);
  expect(await find("constructor", [endless, odd])).toEqual(["constructor"]);
  expect(await find("__proto__", [endless, odd])).toEqual(["constructor"]);
});

test("a search over many tools yields to the event loop", async () => {
  const here = connection(1);
  const definitions = Array.from({ length: 20_000 }, (_, index) =>
    tool(`read_${index}`, `Reads number ${index} of all.`),
  );
  let turns = 0;
  const ticking = setInterval(() => (turns += 1), 1);
  const { totalCount } = await createToolRanking().rank(
    "number",
    definitions.map((definition) => ({ connection: here, definition })),
    { limit: 1, offset: 0 },
  );
  clearInterval(ticking);
  expect(totalCount).toBe(20_000);
  expect(turns).toBeGreaterThan(0);
});
