import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/json.ts";
import { type Child, startChild } from "../support/child-process.ts";
import { freePort } from "../support/free-port.ts";
import {
  type LocatedOperation,
  type Operation,
  type When,
  listExamples,
  listOperations,
  readDocument,
  resolve,
} from "../contract/document.ts";

const document = await readDocument();
let mock: Child | undefined;
let origin: string;

// Started like `npm run mock`, on another port.
beforeAll(async () => {
  const port = await freePort();
  const args = ["test/mock/main.ts", "--port", String(port)];
  mock = await startChild({ command: process.execPath, args, ready: /^mock listening on /m });
  origin = `http://127.0.0.1:${port}`;
});

afterAll(async () => {
  await mock?.end("SIGTERM");
});

/** The request values of the first success example, because not every id has one. */
function idsOfSuccess({ responses }: Operation): When {
  const success = Object.entries(responses).find(([status]) => status.startsWith("2"))?.[1] ?? {};
  const [media] = Object.values(resolve(document, success).content ?? {});
  const whens = Object.values(media?.examples ?? {}).flatMap((each) =>
    [resolve(document, each)["x-when"] ?? []].flat(),
  );
  return whens[0] ?? {};
}

/** Requests one documented response with an otherwise valid request. */
async function ask({ method, path, operation, parameters }: LocatedOperation, prefer: string): Promise<Response> {
  const headers: Record<string, string> = prefer === "" ? {} : { prefer };
  const isBasic = operation.security.some((alternative) => "clientBasic" in alternative);
  if (operation.security.length > 0)
    headers.authorization = isBasic ? `Basic ${btoa("client:secret")}` : "Bearer token";
  const query = new URLSearchParams();
  for (const { in: place, name, required, example } of parameters) {
    if (place === "header" && typeof example === "string") headers[name] = example;
    if (place === "query" && required === true && typeof example === "string") query.set(name, example);
  }
  const [type, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  let body: string | undefined;
  if (type !== undefined && media !== undefined) {
    headers["content-type"] = type;
    const value = listExamples(document, media)[0]?.[1];
    const isForm = type === "application/x-www-form-urlencoded";
    body = isForm ? new URLSearchParams(value as Record<string, string>).toString() : JSON.stringify(value);
  }
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const [id] = [idsOfSuccess(operation)[name] ?? []].flat();
    if (id !== undefined) return id;
    const { example } = parameters.find((each) => each.in === "path" && each.name === name) ?? {};
    return typeof example === "string" ? example : "";
  });
  const target = origin + filled + (query.size > 0 ? `?${query.toString()}` : "");
  return fetch(target, { method, headers, ...(body === undefined ? {} : { body }) });
}

describe.each(listOperations(document).map((each) => [`${each.method} ${each.path}`, each] as const))(
  "%s",
  (_title, located) => {
    const answers = Object.entries(located.operation.responses).flatMap(([status, reference]) => {
      const media = Object.entries(resolve(document, reference).content ?? {});
      return media.flatMap(([type, each]) =>
        listExamples(document, each).map(([name, value]): [string, string, string, JsonValue] => [
          status,
          name,
          type,
          value,
        ]),
      );
    });

    test.each(answers)("the mock returns %s %s as documented", async (status, name, type, value) => {
      const response = await ask(located, `code=${status}, example=${name}`);
      expect(response.status).toBe(Number(status));
      expect(response.headers.get("content-type")).toContain(type);
      if (type === "application/json") expect(await response.json()).toEqual(value);
      // Prism's YAML reader drops trailing line breaks.
      else expect((await response.text()).trimEnd()).toBe((value as string).trimEnd());
    });

    test("the mock returns the first success without `Prefer`", async () => {
      const response = await ask(located, "");
      expect(String(response.status)).toBe(answers[0]?.[0]);
    });
  },
);

test("the mock responds like the service without a token", async () => {
  const response = await fetch(`${origin}/api/v1/mcp-servers`);
  expect(response.status).toBe(401);
  expect(response.headers.has("www-authenticate")).toBe(true);
  expect(await response.json()).toEqual({
    detail: "Authentication credentials were not provided.",
    code: "CREDENTIALS_MISSING",
  });
});

const bearer = { authorization: "Bearer token" };
const sends = (body: string) => ({ method: "POST", headers: { ...bearer, "content-type": "application/json" }, body });
const json = { "content-type": "application/json" };

test.each([
  ["an id that the story does not know", "/api/v1/mcp-servers/4", { headers: bearer }, 404, "MCP server 4 not found"],
  [
    "a field that nobody knows",
    "/api/v1/mcp-servers",
    sends('{"server_type":"mcp","hue":1}'),
    400,
    "hue is not a known",
  ],
  ["a body that is no JSON", "/api/v1/mcp-servers", sends("{"), 400, "The request body is not valid JSON."],
  ["a query parameter that nobody knows", "/api/v1/integrations?hue=1", { headers: bearer }, 400, ""],
  ["a path that is not there", "/api/v1/nothing", { headers: bearer }, 404, "Not found."],
  ["a method that is not there", "/api/v1/grants", { headers: bearer, method: "PUT" }, 405, "Method not allowed."],
  ["a broken body without a token", "/api/v1/mcp-servers", { ...sends("{"), headers: json }, 401, "Authentication"],
] as const)("%s is rejected like by the service", async (_title, target, init, status, detail) => {
  const response = await fetch(origin + target, init);
  const body = await response.json();
  // Named only where a field or parameter is invalid.
  const invalidField = detail === "" || detail.startsWith("hue") ? { field: expect.any(String) as string } : {};
  expect([response.status, body]).toEqual([
    status,
    { detail: expect.stringContaining(detail), code: expect.stringMatching(/^[A-Z_]+$/), ...invalidField },
  ]);
});

test("returns each connection in the requested view", async () => {
  for (const id of [1, 2, 3]) {
    const plain = await fetch(`${origin}/api/v1/mcp-servers/${id}`, { headers: bearer });
    expect(await plain.json()).toMatchObject({ data: { id } });
    const detailed = await fetch(`${origin}/api/v1/mcp-servers/${id}?view=detailed`, { headers: bearer });
    expect(await detailed.json()).toMatchObject({ connection: { connection_id: String(id) } });
  }
});

test.each([
  ["/api/v1/oauth-clients?include_revoked=true", "/api/v1/oauth-clients/", "client_id"],
  ["/api/v1/personal-access-tokens?include_ended=true", "/api/v1/personal-access-tokens/", "id"],
  ["/api/v1/admin/accounts", "/api/v1/admin/accounts/", "id"],
])("every object that %s lists can be read and equals the listed one", async (list, path, key) => {
  const listed = (await (await fetch(origin + list, { headers: bearer })).json()) as { data: Record<string, string>[] };
  expect(listed.data.length).toBeGreaterThan(2);
  for (const one of listed.data) {
    const read = await fetch(origin + path + (one[key] ?? ""), { headers: bearer });
    expect(await read.json()).toEqual({ success: true, data: one });
  }
  expect((await fetch(`${origin}${path}nobody`, { headers: bearer })).status).toBe(404);
});

test.each([
  ["POST", "/api/v1/mcp-servers/1/authorization", 400, "cannot be authorized by OAuth"],
  ["GET", "/api/v1/mcp-servers/2/calls/811", 404, "call 811 are not stored"],
  ["DELETE", "/api/v1/oauth-clients/conn_2_b8RkQ1nWf4ZsE6hJ", 409, "belongs to MCP server 2"],
  ["POST", "/api/v1/oauth-clients/client_h1Wc6sUe9oPq3dKx7yTb0A/rotate-secret", 409, "has no secret"],
  ["DELETE", "/api/v1/grants/grant_nobody", 404, "not found"],
  ["POST", "/api/v1/webhook-deliveries/delivery_Ml4rD7sQh0bNw9uGt2eJcP/resend", 409, "is disabled"],
  ["DELETE", "/api/v1/webhooks/webhook_nobody", 404, "not found"],
  ["DELETE", "/api/v1/admin/accounts/acc_Zk3vQ0cYwq8mV1xR5tN7Lg", 409, "Disable the account first"],
  ["POST", "/api/v1/admin/accounts/acc_Ur7bX2mKq9sLd4wTz1VgHc/disable", 409, "your own account"],
] as const)("%s %s is rejected as in the examples", async (method, target, status, detail) => {
  const response = await fetch(origin + target, { headers: bearer, method });
  expect([response.status, await response.json()]).toEqual([
    status,
    { detail: expect.stringContaining(detail), code: expect.any(String) },
  ]);
});

test.each([
  ["/api/v1/calls?outcome=refused", ["810"]],
  ["/api/v1/calls?server_id=1&outcome=refused", []],
  ["/api/v1/audit-events?action=connection.create", ["4709", "4694", "4690"]],
  ["/api/v1/audit-events?object_type=grant", []],
  ["/api/v1/webhook-deliveries?status=failed", ["delivery_Ml4rD7sQh0bNw9uGt2eJcP"]],
  ["/api/v1/webhook-deliveries?webhook_id=webhook_nobody", []],
  ["/api/v1/admin/audit-events?account_id=installation", ["4703"]],
  ["/api/v1/admin/accounts?status=disabled", ["acc_Pf5nC8yRt3jWe6hQo0BkMa"]],
  ["/api/v1/admin/accounts?query=nobody", []],
])("%s lists only matching items", async (target, ids) => {
  const { data } = (await (await fetch(origin + target, { headers: bearer })).json()) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual(ids);
});

test("generates a response on request", async () => {
  const response = await fetch(`${origin}/api/v1/mcp-servers/2`, { headers: { ...bearer, prefer: "dynamic=true" } });
  expect(response.status).toBe(200);
  expect(JSON.stringify(await response.json())).not.toContain("Acme Handbook");
});
