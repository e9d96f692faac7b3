import { once } from "node:events";
import { createServer } from "node:http";
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient, type ProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { sendRawRequest } from "../support/raw-request.ts";
import { type Service, startService } from "../support/service.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { until } from "../support/until.ts";
import { formsOf, secretsIn } from "./secret-forms.ts";

let database: TestDatabase;
let upstream: Upstream;
let service: Service;
let accounts: TestAccounts;
let account: TestAccount;
let token: string;

/** An upstream that answers everything with 500 and repeats the request. */
const careless = createServer((request, response) => {
  response.writeHead(500, { "x-you-sent": request.headers.authorization ?? "" });
  response.end(JSON.stringify({ error: "boom", headers: request.headers, url: request.url }));
});

/** Every secret that is sent, by its input. */
const canaries = new Map<string, string>();
/** Everything that the service returned. */
const answers: string[] = [];

function canary(input: string): string {
  const secret = `canary${randomBytes(24).toString("hex")}`;
  canaries.set(input, secret);
  return secret;
}

beforeAll(async () => {
  database = await createTestDatabase();
  upstream = await startUpstream();
  careless.listen(0, "127.0.0.1");
  await once(careless, "listening");
  const address = careless.address();
  const carelessUrl = `http://127.0.0.1:${typeof address === "object" ? String(address?.port) : ""}`;
  service = await startService({
    databaseUrl: database.url,
    env: {
      LOG_LEVEL: "trace",
      OUTBOUND_ALLOW: upstream.host,
      INTEGRATION_BASE_URLS: `bamboohr=${carelessUrl}`,
    },
  });
  accounts = await openAccounts(service.env);
  account = await accounts.create();
  token = await account.token();
});

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await upstream?.close();
  careless.close();
  await database?.close();
});

async function call(api: ProtocolClient, operation: string, input: JsonObject, headers = {}): Promise<JsonObject> {
  const outcome = await api.call(operation, { input, token, headers });
  answers.push(JSON.stringify([outcome.body, outcome.message, [...outcome.headers]]));
  return Object(outcome.body) as JsonObject;
}

const verificationOf = async (api: ProtocolClient, id: string): Promise<unknown> => {
  const { data } = await call(api, "GetConnection", { server_id: id });
  return (data as JsonObject)["api_key_verification_status"];
};

test.each(["rest", "grpc"] as const)("sends secrets through every input over %s", async (protocol) => {
  const api = createProtocolClient(protocol, service.url);
  const put = (input: string): string => canary(`${protocol}: ${input}`);

  const createKey = put("configuration.api_token of mcp");
  upstream.key = createKey;
  const created = await call(api, "CreateConnection", {
    server_type: "mcp",
    configuration: {
      url: upstream.url,
      api_token: createKey,
      headers: { "x-tenant-secret": put("configuration.headers") },
    },
  });
  const id = String(created["server_id"]);
  await until(async () => (await verificationOf(api, id)) === "verified", { what: "verified" });

  // The contents of calls are never stored by default.
  const argument = put("an argument of a call");
  upstream.onCall = () => ({ content: [{ type: "text", text: "done" }] });
  const { sessionId } = await call(api, "Initialize", {});
  const headers = { "x-session-id": String(sessionId) };
  const result = await call(api, "CallTool", { name: `look_up__${id}`, arguments: { text: argument } }, headers);
  expect(result["isError"]).toBe(false);
  // A call that fails at an upstream which repeats the key.
  upstream.key = "another";
  const failed = await call(api, "CallTool", { name: `look_up__${id}`, arguments: { text: argument } }, headers);
  expect(failed["isError"]).toBe(true);

  // A key that the upstream rejects and repeats.
  await call(api, "UpdateConnection", { server_id: id, api_key: put("api_key") });
  await until(async () => (await verificationOf(api, id)) === "failed", { what: "failed" });
  const config = { api_token: put("config.api_token"), headers: { "x-tenant-secret": put("config.headers") } };
  await call(api, "UpdateConnection", { server_id: id, view: "detailed", config });
  await until(async () => (await verificationOf(api, id)) === "failed", { what: "failed again" });
  await call(api, "UpdateConnection", {
    server_id: id,
    connection_id: id,
    oauth2_client_secret: put("oauth2_client_secret"),
  });
  await call(api, "GetConnection", { server_id: id, view: "detailed" });
  await call(api, "ListConnections", {});
  await call(api, "ListConnectionTools", { server_id: id });

  // An upstream that returns 500 and repeats the request.
  const bamboo = await call(api, "CreateConnection", {
    server_type: "bamboohr",
    configuration: { company_domain: "acme", api_token: put("configuration.api_token of bamboohr") },
  });
  const bambooId = String(bamboo["server_id"]);
  const detail = await until(async () => {
    const { connection } = await call(api, "GetConnection", { server_id: bambooId, view: "detailed" });
    return (connection as JsonObject)["status_reason"];
  });
  expect(detail).toEqual(expect.any(String));

  // Checks of a configuration, with an upstream that repeats the key and with invalid input.
  const tried = await call(api, "ValidateConfiguration", {
    server_type: "bamboohr",
    configuration: { company_domain: "acme", api_token: put("a configuration that is tried") },
  });
  expect(tried).toMatchObject({ data: { valid: true } });
  const wrongTrial = { url: upstream.url, api_token: [put("a configuration of a wrong type that is tried")] };
  await call(api, "ValidateConfiguration", { server_type: "mcp", configuration: wrongTrial });
  await call(api, "PreviewTools", {
    server_type: "mcp",
    configuration: { url: upstream.url, api_token: put("a previewed key") },
  });

  // Secrets in rejected requests.
  await call(api, "UpdateConnection", {
    server_id: id,
    api_key: `${put("an api_key that is too long")}${"k".repeat(5000)}`,
  });
  await call(api, "UpdateConnection", { server_id: id, api_key: `${put("an api_key with a line break")}\n` });
  await call(api, "UpdateConnection", {
    server_id: id,
    oauth2_client_secret: `${put("a client secret of the wrong form")} !`,
  });
  await call(api, "UpdateConnection", { server_id: id, config: { api_token: [put("an api_token of a wrong type")] } });
  await call(api, "UpdateConnection", {
    server_id: id,
    config: { headers: { "x-a": `${put("a header with a line break")}\r\n` } },
  });
  await call(api, "UpdateConnection", { server_id: id, config: { color: put("an unknown configuration key") } });
  await call(api, "UpdateConnection", {
    server_id: id,
    config: { api_token: put("a key beside a wrong destination"), url: "http://10.0.0.1/" },
  });
  await call(api, "CreateConnection", {
    server_type: "nothing",
    configuration: { api_token: put("a key of no integration") },
  });
});

test("sends secrets through raw bodies, headers and the token endpoint", async () => {
  const send = async (path: string, headers: readonly string[], body: string): Promise<void> => {
    const answer = await sendRawRequest(service.url, { method: "POST", path, headers, body });
    answers.push(JSON.stringify([answer.status, answer.headers, answer.text]));
  };
  const bearer = ["authorization", `Bearer ${token}`];
  const json = ["content-type", "application/json"];
  const form = ["content-type", "application/x-www-form-urlencoded"];
  const basic = (id: string, secret: string): string[] => ["authorization", `Basic ${btoa(`${id}:${secret}`)}`];
  for (const path of ["/api/v1/mcp-servers", "/patchbay.v1.ConnectionService/CreateConnection"]) {
    await send(path, [...bearer, ...json], `{"configuration":{"api_token":"${canary(`broken JSON at ${path}`)}"`);
    await send(path, [...bearer, "content-type", "text/plain"], canary(`a body of another type at ${path}`));
    await send(path, ["authorization", `Bearer ${canary(`a bearer token that is none at ${path}`)}`, ...json], "{}");
  }
  const { clientId, clientSecret } = await account.client("mgmt.read");
  canaries.set("the secret of a client", clientSecret);
  const wrong = canary("a wrong client secret");
  await send("/oauth2/token", [...form, ...basic(clientId, wrong)], "grant_type=client_credentials");
  await send(
    "/oauth2/token",
    form,
    `grant_type=client_credentials&client_id=${clientId}&client_secret=${canary("a client secret in the form")}`,
  );
  await send("/oauth2/token", [...form, ...basic(clientId, clientSecret)], `grant_type=${canary("a grant type")}`);
  // The only response that must contain a secret is not recorded.
  const issued = await sendRawRequest(service.url, {
    method: "POST",
    path: "/oauth2/token",
    headers: [...form, ...basic(clientId, clientSecret)],
    body: "grant_type=client_credentials",
  });
  const { access_token: accessToken } = Object(issued.json) as { access_token: string };
  canaries.set("an access token", accessToken);
  canaries.set("a personal access token", token);
  await send("/api/v1/mcp-servers", ["authorization", `Bearer ${accessToken}`, ...json], "{}");
  const hook = { url: upstream.url, event_types: ["connection.created"] };
  const created = await createProtocolClient("rest", service.url).call("CreateWebhook", { token, input: hook });
  const { data: webhook, secret } = created.body as { data: { id: string }; secret: string };
  canaries.set("the secret of a webhook", secret.slice("whsec_".length));
  const { body: listed } = await createProtocolClient("rest", service.url).call("ListWebhooks", { token });
  answers.push(JSON.stringify(listed));
  await send(`/api/v1/webhooks/${webhook.id}/rotate-secret?grace_seconds=-1`, bearer, "");
  const { password } = await service.command("account", "create", "--email", "canary@example.com");
  canaries.set("the password of an account", String(password));
  canaries.set("the master key", String(service.env["PATCHBAY_KEYS"]).replace(/^\d+:/, ""));
});

test("no response contains a secret", () => {
  expect(answers.length).toBeGreaterThan(60);
  for (const answer of answers)
    expect([answer.slice(0, 400), secretsIn(answer, canaries)]).toEqual([expect.anything(), []]);
});

test("no log line contains a secret", () => {
  const log = service.output();
  expect(log).toMatch(/"level":/);
  const guilty = log.split("\n").filter((line) => secretsIn(line, canaries).length > 0);
  expect(guilty).toEqual([]);
});

test("no column of any table contains a secret", async () => {
  const tables = await accounts.query(
    "select schemaname, tablename from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
  );
  expect(tables.length).toBeGreaterThan(10);
  for (const { schemaname: schema, tablename: table } of tables) {
    const rows = await accounts.query(`select t::text as row from "${String(schema)}"."${String(table)}" t`);
    for (const { row } of rows)
      expect([`${String(schema)}.${String(table)}`, ...secretsIn(String(row), canaries)]).toHaveLength(1);
  }
});

test("the search finds a secret that is present", async () => {
  for (const [name, secret] of canaries) {
    for (const form of formsOf(secret))
      expect([name, secretsIn(`before ${form} after`, canaries)]).toEqual([name, [name]]);
  }
  const [row] = await accounts.query("select row(convert_to($1, 'UTF8'))::text as row", [
    canaries.get("rest: api_key"),
  ]);
  expect(secretsIn(String(row?.["row"]), canaries)).toEqual(["rest: api_key"]);
});

test("the published keys contain only public parts", async () => {
  const response = await fetch(`${service.url}/.well-known/jwks.json`);
  const { keys } = (await response.json()) as { keys: object[] };
  for (const key of keys) expect(Object.keys(key)).not.toContain("d");
  expect(keys).not.toHaveLength(0);
});

test("a secret that is moved to another row cannot be decrypted", async () => {
  const api = createProtocolClient("rest", service.url);
  const owner = await accounts.create();
  const thief = await accounts.create();
  upstream.key = undefined;
  const make = async (who: TestAccount, key: string): Promise<string> => {
    const input = { server_type: "mcp", configuration: { url: upstream.url, api_token: key } };
    const { body } = await api.call("CreateConnection", { token: await who.token(), input });
    const id = String((body as JsonObject)["server_id"]);
    await until(async () => {
      const read = await api.call("GetConnection", { token: await who.token(), input: { server_id: id } });
      return JSON.stringify(read.body).includes('"verified"');
    });
    return id;
  };
  const ownersKey = canary("a key that is moved");
  const from = await make(owner, ownersKey);
  const to = await make(thief, "the-key-of-the-thief");
  const sessionOf = async (): Promise<Record<string, string>> => {
    const { body } = await api.call("Initialize", { token: await thief.token() });
    return { "x-session-id": String((body as JsonObject)["sessionId"]) };
  };
  const options = { token: await thief.token(), headers: await sessionOf(), input: { name: `look_up__${to}` } };
  expect((await api.call("CallTool", options)).status).toBe(200);

  await service.stop();
  await accounts.query(
    "update connection set sealed_secrets = (select sealed_secrets from connection where id = $1) where id = $2",
    [Number(from), Number(to)],
  );
  await service.start();
  upstream.authorizations.length = 0;
  const outcome = await api.call("CallTool", options);
  expect(outcome.status).toBe(500);
  expect(outcome.message).toMatch(/^Failed to call tool: /);
  expect(upstream.authorizations.filter((sent) => sent.includes(ownersKey))).toEqual([]);
  expect(secretsIn(JSON.stringify(outcome.body) + service.output(), canaries)).toEqual([]);
});
