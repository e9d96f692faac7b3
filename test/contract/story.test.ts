import { readFile } from "node:fs/promises";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json.ts";
import { listExamples, listOperations, readDocument, resolve } from "./document.ts";

// The examples describe one account. Frontends are built on them, so they must not contradict each other.
const document = await readDocument();

/** The successful responses of an operation, by example name. */
function answers(operationId: string): ReadonlyMap<string, JsonObject> {
  const located = listOperations(document).find((each) => each.operation.operationId === operationId);
  const [, success] = Object.entries(located?.operation.responses ?? {}).find(([status]) => status < "300") ?? [];
  const media = Object.values(success === undefined ? {} : (resolve(document, success).content ?? {}));
  const examples = media.flatMap((each) => listExamples(document, each));
  if (examples.length === 0) throw new Error(`${operationId} has no response`);
  return new Map(examples.flatMap(([name, value]) => (isJsonObject(value) ? [[name, value] as const] : [])));
}

/** The examples returned without `Prefer`. The others show connections in other states. */
function answersOf(operationId: string): ReadonlyMap<string, JsonObject> {
  const located = listOperations(document).find((each) => each.operation.operationId === operationId);
  const examples = Object.values(located?.operation.responses["200"]?.content ?? {}).map((each) => each.examples ?? {});
  const isTold = (name: string): boolean => examples.some((each) => each[name]?.["x-when"] !== undefined);
  return new Map([...answers(operationId)].filter(([name]) => isTold(name)));
}

function answer(operationId: string, name: string): JsonObject {
  const found = answers(operationId).get(name);
  if (found === undefined) throw new Error(`${operationId} has no example ${name}`);
  return found;
}

const objects = (value: JsonValue | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];
const object = (value: JsonValue | undefined): JsonObject => (isJsonObject(value ?? null) ? (value as JsonObject) : {});

/** All objects in a value. */
function within(value: JsonValue): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(within);
  return isJsonObject(value) ? [value, ...Object.values(value).flatMap(within)] : [];
}

const connections = objects(answer("listConnections", "all")["data"]);
const successes = listOperations(document).flatMap(({ operation }) => [...answersOrNone(operation.operationId)]);

function answersOrNone(operationId: string): Iterable<JsonObject> {
  try {
    return answers(operationId).values();
  } catch {
    // A 204 has no body.
    return [];
  }
}

test("each listed connection can be read in both views, with the same values", () => {
  expect(connections.map(({ id }) => id)).toEqual([1, 2, 3]);
  const reads = [...answersOf("getConnection").values()];
  const detailed = objects(answer("listConnections", "detailed")["data"]);
  const created = [...answers("createConnection").values()];
  for (const connection of connections) {
    const id = String(connection["id"]);
    expect(reads.filter((each) => object(each["data"])["id"] === connection["id"])).toEqual([
      { success: true, data: connection },
    ]);
    const details = reads.map((each) => object(each["connection"])).find((each) => each["connection_id"] === id) ?? {};
    const inList = detailed.find((each) => each["id"] === connection["id"]) ?? {};
    expect(inList).toMatchObject(connection);
    expect(details).toMatchObject({
      mcp_server_id: id,
      name: connection["mcp_server_name"],
      oauth2_client_id: connection["oauth2_client_id"],
      oauth2_scopes: connection["oauth2_scopes"],
      created_at: connection["created_at"],
      pending_tool_changes: connection["pending_tool_changes"] ?? 0,
    });
    for (const name of ["server_type", "status", "status_reason"]) expect(inList[name]).toEqual(details[name]);
    expect(created.find((each) => each["server_id"] === id)).toMatchObject({
      server_type: details["server_type"],
      name: details["name"],
      created_at: details["created_at"],
    });
  }
});

test("tools belong to their connections, with the same disabled and pending ones everywhere", async () => {
  const [people, handbook, code] = connections;
  const all = object(answer("listConnectionTools", "include_disabled")["data"]);
  const off = objects(all["tools"]).filter(({ enabled }) => enabled === false);
  expect(off.map(({ id }) => id)).toEqual(handbook?.["disabled_tools"]);
  const on = object(answer("listConnectionTools", "all")["data"]);
  expect(objects(all["tools"]).filter(({ enabled }) => enabled)).toEqual(on["tools"]);
  for (const each of [all, on]) expect(each["total_count"]).toBe(objects(each["tools"]).length);
  const { pending, pending_count: waiting } = answer("listToolChanges", "described_otherwise");
  expect(waiting).toBe(handbook?.["pending_tool_changes"]);
  const held = objects(all["tools"]).filter((each) => each["change_pending"] === true);
  expect(held.map(({ name, id }) => ({ tool: name, id }))).toEqual(
    objects(pending).map(({ tool, id }) => ({ tool, id })),
  );
  for (const [name, connection, type] of [
    ["people", people, "bamboohr"],
    ["code", code, "github"],
  ] as const) {
    const file = new URL(`../../openapi/integrations/${type}.yaml`, import.meta.url);
    const { paths } = parse(await readFile(file, "utf8")) as { paths: Record<string, JsonObject> };
    const operations = within(paths).map((each) => each["operationId"]);
    const page = object(answer("listConnectionTools", name)["data"]);
    expect(page["mcp_server_id"]).toBe(connection?.["id"]);
    for (const tool of objects(page["tools"])) expect(operations).toContain(tool["name"]);
    const inCatalog = object(answer("getIntegration", type)["data"]);
    expect(inCatalog["tool_count"]).toBe(operations.filter((each) => each !== undefined).length);
    expect(objects(answer("listIntegrations", "some")["data"])).toContainEqual(inCatalog);
  }
});

/** The date at which the examples are set. */
const NOW = "2026-07-04T08:00:00.000Z";

function hasEnded({ revoked_at: revoked, expires_at: end }: JsonObject): boolean {
  return revoked !== undefined || (typeof end === "string" && end < NOW);
}

test("each listed client and token can be read, and belongs to its account", () => {
  for (const [list, all, read, key] of [
    ["listOAuthClients", "with_revoked", "getOAuthClient", "client_id"],
    ["listPersonalAccessTokens", "with_ended", "getPersonalAccessToken", "id"],
  ] as const) {
    const listed = objects(answer(list, all)["data"]);
    const byId = (one: JsonObject, other: JsonObject): number => String(one[key]).localeCompare(String(other[key]));
    const readable = [...answers(read).values()].map((each) => object(each["data"]));
    expect(readable.toSorted(byId)).toEqual(listed.toSorted(byId));
    expect(answer(list, all)["total_count"]).toBe(listed.length);
    const inUse = objects(answer(list, "some")["data"]);
    expect(answer(list, "some")["total_count"]).toBe(inUse.length);
    expect(inUse).toEqual(listed.filter((each) => !hasEnded(each)));
    const created = listed.map((each) => String(each["created_at"]));
    expect(created).toEqual(created.toSorted());
  }
  const clients = objects(answer("listOAuthClients", "some")["data"]);
  for (const { id, mcp_server_name: name, oauth2_client_id: client, oauth2_scopes: scopes } of connections) {
    expect(clients.find((each) => each["client_id"] === client)).toMatchObject({ mcp_server_id: id, name, scopes });
  }
  for (const { data, token } of answers("createPersonalAccessToken").values()) {
    const { id: jti, client_id, scopes } = object(data);
    expect(decodeJwt(String(token))).toMatchObject({ jti, client_id, scopes, token_type: "pat" });
  }
});

test("each listed webhook and delivery can be read, and payloads tell of the account's connections", () => {
  const webhooks = objects(answer("listWebhooks", "some")["data"]);
  const read = [...answers("getWebhook").values()].map((each) => object(each["data"]));
  expect(read.toReversed()).toEqual(webhooks);
  const deliveries = objects(answer("listWebhookDeliveries", "all")["data"]);
  const told = [...answers("getWebhookDelivery").values()];
  expect(told.map((each) => each["data"])).toEqual(deliveries);
  for (const { data, payload } of told) {
    const delivery = object(data);
    const webhook = webhooks.find(({ id }) => id === delivery["webhook_id"]);
    expect(webhook?.["event_types"]).toContain(delivery["event_type"]);
    const event = JSON.parse(String(payload)) as { type: string; timestamp: string; data: JsonObject };
    expect([event.type, event.timestamp]).toEqual([delivery["event_type"], delivery["created_at"]]);
    const { mcp_server_id: id, mcp_server_name: name } = event.data;
    expect(connections.find((each) => each["id"] === id)?.["mcp_server_name"]).toBe(name);
  }
});

test("calls belong to connections and clients of the account, and usage counts them", () => {
  const calls = objects(answer("listCalls", "all")["data"]);
  const programs = ["listOAuthClients", "listPersonalAccessTokens"].flatMap((list) =>
    objects(answer(list, "some")["data"]).map((each) => each["client_id"]),
  );
  for (const call of calls) expect(programs).toContain(call["client_id"]);
  const pages = ["page", "next_page"].flatMap((name) => objects(answer("listCalls", name)["data"]));
  expect(pages).toEqual(calls);
  const counted = [...answers("getUsage").keys()].filter((name) => name !== "none" && !name.startsWith("of_"));
  expect(counted).toContain("by_day");
  for (const name of counted) {
    const groups = objects(answer("getUsage", name)["data"]);
    for (const [outcome, field] of [
      ["ok", "ok"],
      ["upstream_error", "upstream_errors"],
      ["refused", "refused"],
    ] as const) {
      const sum = groups.reduce((total, group) => total + Number(group[field]), 0);
      expect([name, field, sum]).toEqual([name, field, calls.filter((call) => call["outcome"] === outcome).length]);
    }
  }
});

test("no example mentions an unknown connection or account", () => {
  const accounts = new Set<JsonValue>();
  for (const each of successes.flatMap(within)) {
    for (const name of ["mcp_server_id", "server_id", "connection_id"]) {
      if (name in each) expect(["1", "2", "3"]).toContain(String(each[name]));
    }
    for (const id of Array.isArray(each["mcp_server_ids"]) ? each["mcp_server_ids"] : [])
      expect([1, 2, 3]).toContain(id);
    if (each["object_type"] === "connection") {
      const found = connections.find(({ id }) => String(id) === each["object_id"]);
      expect(found?.["mcp_server_name"]).toBe(each["object_name"]);
    }
    for (const name of ["account_id", "actor_account_id"]) if (name in each) accounts.add(each[name] ?? null);
    for (const name of ["token", "access_token"]) {
      if (typeof each[name] === "string" && each[name].includes(".")) accounts.add(decodeJwt(each[name]).sub ?? null);
    }
  }
  // Events without an account belong to the installation.
  accounts.delete("installation");
  const known = objects(answer("listAccounts", "some")["data"]);
  expect(known.map(({ id }) => id)).toEqual(expect.arrayContaining([...accounts]));
  const account = known.find(({ email }) => email === "ada@example.com");
  expect(account?.["connection_count"]).toBe(connections.length);
});

test("the listed accounts can be read, and the installation counts them", () => {
  const listed = objects(answer("listAccounts", "some")["data"]);
  const read = [...answers("getAccount").values()].map((each) => object(each["data"]));
  expect(read).toHaveLength(listed.length);
  expect(listed).toEqual(expect.arrayContaining(read));
  for (const status of ["active", "disabled"]) {
    expect(answer("listAccounts", status)["data"]).toEqual(listed.filter((each) => each["status"] === status));
  }
  expect(object(answer("getSystemStatus", "healthy")["data"])).toMatchObject({
    accounts: listed.length,
    disabled_accounts: listed.filter(({ status }) => status === "disabled").length,
    connections: listed.reduce((sum, { connection_count: count }) => sum + Number(count), 0),
  });
});

test("the audit log covers the existing objects, newest first, and matches its pages and filters", () => {
  const pages = ["some", "next_page"].flatMap((name) => objects(answer("listAuditEvents", name)["data"]));
  const moments = pages.map((each) => String(each["occurred_at"]));
  expect(moments).toEqual(moments.toSorted().reverse());
  expect(answer("listAllAuditEvents", "of_ada")["data"]).toEqual(pages);
  for (const name of ["created", "updated", "refused", "of_connections"]) {
    const filtered = objects(answer("listAuditEvents", name)["data"]);
    expect(filtered).not.toEqual([]);
    expect(pages).toEqual(expect.arrayContaining(filtered));
  }
  const all = objects(answer("listAllAuditEvents", "some")["data"]);
  const ids = new Map([
    ["oauth_client", ofList("listOAuthClients", "client_id")],
    ["personal_access_token", ofList("listPersonalAccessTokens", "id")],
    ["account", ofList("listAccounts", "id")],
    ["signing_key", ofList("listSigningKeys", "id")],
  ]);
  for (const { object_type: type, object_id: id } of [...pages, ...all]) {
    const known = ids.get(String(type));
    if (known !== undefined) expect(known).toContain(id);
  }
});

function ofList(operationId: string, key: string): (JsonValue | undefined)[] {
  return [...answers(operationId).values()].flatMap((each) => objects(each["data"]).map((one) => one[key]));
}

test("the signing keys are published, and each signature names one of them", () => {
  const listed = objects(answer("listSigningKeys", "keys")["data"]).map(({ id }) => id);
  const published = objects(answer("getSigningKeys", "keys")["keys"]).map(({ kid }) => kid);
  expect(new Set(published)).toEqual(new Set(listed));
  for (const each of successes.flatMap(within)) {
    for (const name of ["token", "access_token"]) {
      if (typeof each[name] === "string" && each[name].includes("."))
        expect(listed).toContain(decodeProtectedHeader(each[name]).kid);
    }
  }
});
