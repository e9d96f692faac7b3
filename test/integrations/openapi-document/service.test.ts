import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../../support/accounts.ts";
import { createProtocolClient, type ProtocolClient } from "../../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import type { Outcome } from "../../support/outcome.ts";
import { type Service, startService } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import { documentOf, type Site, startSite } from "./support.ts";

const KEY = "key-nobody-may-see-0123456789";
/** 20 operations of GitHub's document. */
const GITHUB = new URL("../openapi/github.yaml", import.meta.url);

let database: TestDatabase;
let site: Site;
let other: Site;
let service: Service;
let accounts: TestAccounts;
let account: TestAccount;

beforeAll(async () => {
  [database, site, other] = await Promise.all([createTestDatabase(), startSite(), startSite()]);
  const allowed = [site, other].map(({ url }) => new URL(url).host).join(",");
  service = await startService({ databaseUrl: database.url, env: { OUTBOUND_ALLOW: allowed } });
  accounts = await openAccounts(service.env);
  account = await accounts.create();
});

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await Promise.all([site?.close(), other?.close(), database?.close()]);
});

async function call(client: ProtocolClient, operation: string, input: JsonObject, headers = {}): Promise<Outcome> {
  return client.call(operation, { input, token: await account.token(), headers });
}

async function fields(client: ProtocolClient, operation: string, input: JsonObject, headers = {}): Promise<JsonObject> {
  const outcome = await call(client, operation, input, headers);
  expect([operation, outcome.message]).toEqual([operation, ""]);
  return Object(outcome.body) as JsonObject;
}

const statusOf = async (client: ProtocolClient, id: string): Promise<unknown> =>
  ((await fields(client, "GetConnection", { server_id: id }))["data"] as JsonObject)["api_key_verification_status"];

/** A document of about 200 KB. */
const large = (): JsonObject =>
  documentOf({
    servers: [{ url: `${site.url}/v1` }],
    "x-notes": "n".repeat(200_000),
    security: [{ a: [] }],
    components: { securitySchemes: { a: { type: "http", scheme: "bearer" } } },
  });

test.each(["rest", "connect", "grpc"] as const)(
  "converts an inline document to tools that can be called over %s",
  async (name) => {
    const client = createProtocolClient(name, service.url);
    const created = await fields(client, "CreateConnection", {
      server_type: "openapi",
      configuration: { spec: large(), api_token: KEY },
    });
    const id = String(created["server_id"]);
    await until(async () => (await statusOf(client, id)) === "verified", { what: "verified" });
    const { data } = await fields(client, "ListConnectionTools", { server_id: id });
    expect(data).toMatchObject({
      total_count: 2,
      tools: [
        { name: "add_thing", read_only: false },
        { name: "list_things", read_only: true },
      ],
    });
    const { sessionId } = await fields(client, "Initialize", {});
    const headers = { "x-session-id": String(sessionId) };
    const { tools } = await fields(client, "ListTools", {}, headers);
    const names = (tools as JsonObject[]).map((each) => String(each["name"]));
    expect(names.filter((each) => each.endsWith("list_things"))).not.toEqual([]);
    expect(await fields(client, "CallTool", { name: `list_things__${id}` }, headers)).toMatchObject({
      isError: false,
    });
    expect(site.requests.at(-1)).toMatchObject({ url: "/v1/things", headers: { authorization: `Bearer ${KEY}` } });

    // Responses contain the digest, which requests may send back.
    const shown = async (): Promise<JsonObject> =>
      ((await fields(client, "GetConnection", { server_id: id, view: "detailed" }))["connection"] as JsonObject)[
        "config"
      ] as JsonObject;
    const { spec } = await shown();
    expect(spec).toMatch(/^sha256:[0-9a-f]{64}$/);
    await fields(client, "UpdateConnection", { server_id: id, config: { spec: spec ?? "" } });
    expect(await shown()).toEqual({ spec });

    // Another document may name another server, so the key is required again.
    const elsewhere = documentOf({ servers: [{ url: `${other.url}/v1` }] });
    const refused = await call(client, "UpdateConnection", { server_id: id, config: { spec: elsewhere } });
    expect(refused.message).toMatch(/^config\.spec decides where .* api_token again/);
    await fields(client, "UpdateConnection", { server_id: id, config: { spec: elsewhere, api_token: KEY } });
  },
);

test("lists a document at a URL like any other, with the same tools for all its connections", async () => {
  const client = createProtocolClient("rest", service.url);
  const configuration = { spec_url: `${site.url}/openapi.json` };
  for (let count = 0; count < 3; count += 1) {
    const { server_id: id } = await fields(client, "CreateConnection", { server_type: "openapi", configuration });
    const { data } = await fields(client, "ListConnectionTools", { server_id: id ?? "" });
    expect(data).toMatchObject({ total_count: 2 });
  }
  expect(site.requests.filter(({ url }) => url === "/openapi.json")).toHaveLength(1);
  expect(await accounts.query("select url from openapi_source")).toEqual([{ url: configuration.spec_url }]);
  expect(await accounts.query("select connection_id from tool_list")).toEqual([]);
});

test("shows changes of a document's tools on every connection that uses it, newest first", async () => {
  const client = createProtocolClient("grpc", service.url);
  const configuration = { spec_url: `${site.url}/openapi.json?changing` };
  const { server_id: id } = await fields(client, "CreateConnection", { server_type: "openapi", configuration });
  await fields(client, "ListConnectionTools", { server_id: id ?? "" });
  const insert = "insert into openapi_change (url, added, removed) values ($1, $2, $3)";
  await accounts.query(insert, [configuration.spec_url, ["b"], []]);
  await accounts.query(insert, [configuration.spec_url, [], ["a", "b"]]);
  const { data } = await fields(client, "ListToolChanges", { server_id: id ?? "" });
  const changed_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string;
  expect(data).toEqual([
    { changed_at, added: [], removed: ["a", "b"], changed: [] },
    { changed_at, added: ["b"], removed: [], changed: [] },
  ]);
});

test("rejects an invalid document before anything is stored", async () => {
  const client = createProtocolClient("rest", service.url);
  const tries: [JsonObject, RegExp][] = [
    [{}, /either spec_url or spec/],
    [{ spec: documentOf(), spec_url: site.url }, /either spec_url or spec/],
    [{ spec: "hello: [" }, /^spec: The document cannot be used/],
    [{ spec: `sha256:${"0".repeat(64)}` }, /not stored here/],
    [{ spec: "x".repeat(900 * 1024 + 1) }, /900 KiB/],
    [{ spec_url: "http://169.254.169.254/openapi.json" }, /^spec_url/],
    [{ spec: documentOf(), base_url: "http://10.0.0.1/" }, /^base_url/],
    [{ spec: documentOf(), username: "n".repeat(40_000) }, /at most 32 KiB/],
  ];
  for (const [configuration, message] of tries) {
    const outcome = await call(client, "CreateConnection", { server_type: "openapi", configuration });
    expect([outcome.status, outcome.message]).toEqual([400, expect.stringMatching(message)]);
  }
});

test("rejects the digest of another account's document like that of a missing one", async () => {
  const client = createProtocolClient("rest", service.url);
  const spec = { ...documentOf(), info: { title: "Mine", version: "1" } };
  const { server_id: id } = await fields(client, "CreateConnection", {
    server_type: "openapi",
    configuration: { spec },
  });
  const { connection } = await fields(client, "GetConnection", { server_id: id ?? "", view: "detailed" });
  const reference = ((connection as JsonObject)["config"] as JsonObject)["spec"];
  const stranger = await accounts.create();
  const refusalOf = async (operation: string, configuration: JsonObject): Promise<Outcome> =>
    client.call(operation, {
      input: { server_type: "openapi", configuration },
      token: await stranger.token(),
      headers: {},
    });
  const unknown = `sha256:${"0".repeat(64)}`;
  for (const operation of ["CreateConnection", "PreviewTools"]) {
    const refused = await refusalOf(operation, { spec: reference ?? "" });
    expect(refused.message).toMatch(/not stored here/);
    expect(refused).toEqual(await refusalOf(operation, { spec: unknown }));
  }
  expect((await refusalOf("CreateConnection", { spec: reference ?? "" })).status).toBe(400);
  await fields(client, "CreateConnection", { server_type: "openapi", configuration: { spec: reference ?? "" } });
});

test("tries a document without storing anything", async () => {
  const client = createProtocolClient("rest", service.url);
  const before = await accounts.query("select digest from openapi_document");
  const spec = { ...large(), info: { title: "Only tried", version: "1" } };
  const configuration = { spec, api_token: KEY };
  const tried = await fields(client, "ValidateConfiguration", { server_type: "openapi", configuration });
  expect(tried["data"]).toEqual({ valid: true, errors: [], verification: { outcome: "verified" } });
  const { data } = await fields(client, "PreviewTools", { server_type: "openapi", configuration: { spec }, limit: 1 });
  expect(data).toMatchObject({ tools: [{ name: "add_thing" }], total_count: 2, has_more: true });
  expect(await accounts.query("select digest from openapi_document")).toEqual(before);
});

test("lists the tools of a published document in pages, without a row per connection", async () => {
  site.document = readFileSync(GITHUB, "utf8");
  const client = createProtocolClient("rest", service.url);
  const configuration = { spec_url: `${site.url}/openapi.json?github`, base_url: other.url, api_token: KEY };
  const { server_id: id } = await fields(client, "CreateConnection", { server_type: "openapi", configuration });
  await until(async () => (await statusOf(client, String(id))) === "verified", { what: "verified" });
  const names = new Set<unknown>();
  for (let offset = 0; ; offset += 8) {
    const { data } = await fields(client, "ListConnectionTools", { server_id: id ?? "", limit: 8, offset });
    const page = data as { tools: JsonObject[]; total_count: number; has_more: boolean };
    expect(page.total_count).toBe(20);
    for (const { name } of page.tools) names.add(name);
    if (!page.has_more) break;
  }
  expect(names.size).toBe(20);
  expect(await accounts.query("select connection_id from tool_list")).toEqual([]);
  site.document = documentOf();
});
