import { getOption } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { error_texts, public$ } from "../../gen/proto/patchbay/v1/options_pb.ts";
import type { JsonObject } from "../../src/json.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../support/accounts.ts";
import {
  createProtocolClient,
  createProtocolClients,
  type ProtocolClient,
  operationNamed,
  OPERATIONS,
} from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { PROTOCOL_NAMES } from "../support/outcome.ts";
import { type Service, startService } from "../support/service.ts";
import type { Theirs, Trial } from "./access-trial.ts";
import { listOperations, readDocument } from "./document.ts";
import { ORGANIZATION_TRIALS } from "./organization-trials.ts";
import { WEBHOOK_TRIALS } from "./webhook-trials.ts";

const FORGED = "forged";

/** One entry per operation. A missing entry fails a test. */
const TRIALS: Readonly<Record<string, Trial>> = {
  CreateConnection: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: () => ({ input: { server_type: "mcp", configuration: { url: "https://mcp.example.com/mcp" } } }),
    namesSomething: false,
  },
  ListConnections: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  GetConnection: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: ({ connection }) => ({ input: { server_id: connection } }),
    namesSomething: true,
  },
  UpdateConnection: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ connection }) => ({ input: { server_id: connection, name: "Taken over" } }),
    namesSomething: true,
  },
  AuthorizeConnection: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ connection }) => ({ input: { server_id: connection } }),
    namesSomething: true,
  },
  DeleteConnection: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ connection }) => ({ input: { server_id: connection } }),
    namesSomething: true,
  },
  ListConnectionTools: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: ({ connection }) => ({ input: { server_id: connection } }),
    namesSomething: true,
  },
  ListToolChanges: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: ({ connection }) => ({ input: { server_id: connection } }),
    namesSomething: true,
  },
  AcceptToolChanges: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ connection }) => ({ input: { server_id: connection, digest: "something" } }),
    namesSomething: true,
  },
  WatchConnections: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: ({ connection }) => ({ input: { server_id: connection } }),
    namesSomething: true,
  },
  ListIntegrations: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  GetIntegration: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: () => ({ input: { server_type: "mcp" } }),
    namesSomething: false,
  },
  SearchTools: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: ({ connection }) => ({ input: { q: "employee", server_id: connection } }),
    namesSomething: true,
  },
  GetAccountSettings: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  UpdateAccountSettings: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: () => ({ input: { tool_search: true } }),
    namesSomething: false,
  },
  ListCalls: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: ({ connection }) => ({ input: { server_id: connection } }),
    namesSomething: true,
  },
  GetUsage: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: ({ connection }) => ({ input: { server_id: connection } }),
    namesSomething: true,
  },
  GetCall: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: ({ connection }) => ({ input: { server_id: connection, call_id: "1" } }),
    namesSomething: true,
  },
  ListConnectionUsage: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  ValidateConfiguration: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: () => ({ input: { server_type: "bamboohr", configuration: { company_domain: "acme" } } }),
    namesSomething: false,
  },
  PreviewTools: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: () => ({ input: { server_type: "bamboohr" } }),
    namesSomething: false,
  },
  CreateOAuthClient: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: () => ({ input: { scopes: ["mcp.read"] } }),
    namesSomething: false,
  },
  ListOAuthClients: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  GetOAuthClient: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: ({ client }) => ({ input: { client_id: client } }),
    namesSomething: true,
  },
  UpdateOAuthClient: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ client }) => ({ input: { client_id: client, name: "Taken over" } }),
    namesSomething: true,
  },
  RotateOAuthClientSecret: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ client }) => ({ input: { client_id: client } }),
    namesSomething: true,
  },
  RevokeOAuthClient: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ client }) => ({ input: { client_id: client } }),
    namesSomething: true,
  },
  CreatePersonalAccessToken: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ connection }) => ({ input: { scopes: ["mcp.read"], server_id: connection } }),
    namesSomething: true,
  },
  ListPersonalAccessTokens: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  GetPersonalAccessToken: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: ({ token }) => ({ input: { token_id: token } }),
    namesSomething: true,
  },
  RotatePersonalAccessToken: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ token }) => ({ input: { token_id: token } }),
    namesSomething: true,
  },
  RevokePersonalAccessToken: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ token }) => ({ input: { token_id: token } }),
    namesSomething: true,
  },
  ...WEBHOOK_TRIALS,
  ListAuditEvents: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  ListGrants: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  RevokeGrant: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ grant }) => ({ input: { grant_id: grant } }),
    namesSomething: true,
  },
  ...ORGANIZATION_TRIALS,
  // Administrators see all accounts, so these have no objects of another account.
  ListAllAuditEvents: {
    wrongScopes: "mgmt.read mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  ListAccounts: {
    wrongScopes: "mgmt.read mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  ListSigningKeys: {
    wrongScopes: "mgmt.read mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  GetSystemStatus: {
    wrongScopes: "mgmt.read mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  RotateSigningKeys: {
    wrongScopes: "mgmt.read mgmt.write mcp.read mcp.write",
    request: () => ({ input: { purpose: "access_token" } }),
    namesSomething: false,
  },
  CreateAccount: {
    wrongScopes: "mgmt.read mgmt.write mcp.read mcp.write",
    request: () => ({ input: { email: "nobody@example.com" } }),
    namesSomething: false,
  },
  GetAccount: {
    wrongScopes: "mgmt.read mgmt.write mcp.read mcp.write",
    request: () => ({ input: { account_id: "acc_AAAAAAAAAAAAAAAAAAAAAA" } }),
    namesSomething: false,
  },
  DisableAccount: {
    wrongScopes: "mgmt.read mgmt.write mcp.read mcp.write",
    request: () => ({ input: { account_id: "acc_AAAAAAAAAAAAAAAAAAAAAA" } }),
    namesSomething: false,
  },
  EnableAccount: {
    wrongScopes: "mgmt.read mgmt.write mcp.read mcp.write",
    request: () => ({ input: { account_id: "acc_AAAAAAAAAAAAAAAAAAAAAA" } }),
    namesSomething: false,
  },
  EndAccountSessions: {
    wrongScopes: "mgmt.read mgmt.write mcp.read mcp.write",
    request: () => ({ input: { account_id: "acc_AAAAAAAAAAAAAAAAAAAAAA" } }),
    namesSomething: false,
  },
  PurgeAccount: {
    wrongScopes: "mgmt.read mgmt.write mcp.read mcp.write",
    request: () => ({ input: { account_id: "acc_AAAAAAAAAAAAAAAAAAAAAA" } }),
    namesSomething: false,
  },
  Initialize: {
    wrongScopes: FORGED,
    request: () => ({ input: { protocolVersion: "2025-03-26" } }),
    namesSomething: false,
  },
  ListTools: {
    wrongScopes: FORGED,
    request: ({ session }) => ({ input: {}, headers: { "x-session-id": session } }),
    namesSomething: true,
  },
  CallTool: {
    wrongScopes: FORGED,
    request: ({ session }) => ({ input: { name: "look_up" }, headers: { "x-session-id": session } }),
    namesSomething: true,
  },
};

let database: TestDatabase;
let service: Service;
let accounts: TestAccounts;
let otherAccount: TestAccount;
let theirs: Theirs;
const apis = new Map<string, ProtocolClient>();

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startService({ databaseUrl: database.url });
  accounts = await openAccounts(service.env);
  for (const api of createProtocolClients(service.url)) apis.set(api.name, api);
  const owner = await accounts.create();
  otherAccount = await accounts.create();
  const rest = createProtocolClient("rest", service.url);
  const token = await owner.token();
  const created = await rest.call("CreateConnection", {
    token,
    input: { server_type: "bamboohr", configuration: { company_domain: "acme" } },
  });
  const opened = await rest.call("Initialize", { token });
  const { server_id: connection } = created.body as { server_id: string };
  const { sessionId: session } = opened.body as { sessionId: string };
  const scopes = ["mgmt.read"];
  const registered = await rest.call("CreateOAuthClient", { token, input: { scopes } });
  const made = await rest.call("CreatePersonalAccessToken", { token, input: { scopes } });
  const { data: client } = registered.body as { data: { client_id: string } };
  const { data: personal } = made.body as { data: { id: string } };
  const grant = "grant_AAAAAAAAAAAAAAAAAAAAAA";
  await accounts.query(
    `insert into oauth_grant (account_id, id, client_id, client_name, redirect_uri, scopes, resource)
     values ($1, $2, 'client_of_theirs', 'Theirs', 'https://example.com/', '{mcp.read}', $3)`,
    [owner.id, grant, service.url],
  );
  const { body: hooked } = await rest.call("CreateWebhook", {
    token,
    input: { url: "https://hooks.invalid/", event_types: ["connection.deleted"] },
  });
  const { data: webhook } = hooked as { data: { id: string } };
  const delivery = "delivery_AAAAAAAAAAAAAAAAAAAAAA";
  await accounts.query(
    `insert into webhook_delivery (account_id, id, webhook_id, event_type, subject, payload)
     values ($1, $2, $3, 'connection.deleted', 'connection/1', '{}')`,
    [owner.id, delivery, webhook.id],
  );
  const { id: organization } = await accounts.createOrganization({ owner });
  theirs = {
    ...{ connection, session, client: client.client_id, token: personal.id, grant },
    ...{ webhook: webhook.id, delivery, organization, owner: owner.id },
  };
});

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await database?.close();
});

test("covers every operation", () => {
  expect(Object.keys(TRIALS).toSorted()).toEqual([...OPERATIONS.keys()].toSorted());
});

describe.each(Object.entries(TRIALS))("%s", (operation, trial) => {
  const method = operationNamed(operation);

  async function call(protocol: string, token: string | undefined, input?: JsonObject) {
    const { headers = {}, ...request } = trial.request(theirs);
    const outcome = await apis.get(protocol)?.call(operation, { input: input ?? request.input, headers, token });
    if (outcome === undefined) throw new Error(`there is no protocol ${protocol}`);
    return outcome;
  }

  test("is not public", () => {
    expect(getOption(method, public$)).toBe(false);
  });

  test.each(PROTOCOL_NAMES)("returns 401 with a challenge without a token over %s", async (protocol) => {
    const outcome = await call(protocol, undefined);
    expect([outcome.status, outcome.message]).toEqual([
      protocol === "rest" ? 401 : "unauthenticated",
      "Authentication credentials were not provided.",
    ]);
    expect(outcome.headers.get("www-authenticate")).toMatch(/^Bearer realm="patchbay"/);
  });

  test.each(PROTOCOL_NAMES)("returns 403 with its text without the scope over %s", async (protocol) => {
    const token =
      trial.wrongScopes === FORGED
        ? await accounts.forge(otherAccount, { scopes: [] })
        : await otherAccount.token(trial.wrongScopes);
    const outcome = await call(protocol, token);
    expect([outcome.status, outcome.message]).toEqual([
      protocol === "rest" ? 403 : "permission_denied",
      getOption(method, error_texts).forbidden,
    ]);
  });

  if (!trial.namesSomething) return;
  test.each(PROTOCOL_NAMES)("returns 404 for an object of another account over %s", async (protocol) => {
    const everything = await otherAccount.token("mgmt.admin mgmt.read mgmt.write mcp.read mcp.write");
    const outcome = await call(protocol, everything);
    expect(outcome.status).toBe(protocol === "rest" ? 404 : "not_found");
    // The response equals that for a missing object, so that nobody learns which ids exist.
    if (!("server_id" in trial.request(theirs).input)) return;
    const missing = await call(protocol, everything, { ...trial.request(theirs).input, server_id: "2147483647" });
    expect(missing.message).toBe(outcome.message.replace(` ${theirs.connection} `, " 2147483647 "));
  });
});

test("rejected requests change nothing", async () => {
  const [row] = await accounts.query("select name from connection where id = $1", [Number(theirs.connection)]);
  expect(row).toEqual({ name: "BambooHR" });
  expect(await accounts.query("select id from session where id is not null")).toHaveLength(1);
  const [client] = await accounts.query("select name, revoked_at, secret_rotated_at from oauth_client where id = $1", [
    theirs.client,
  ]);
  expect(client).toEqual({ name: "", revoked_at: null, secret_rotated_at: null });
  const [token] = await accounts.query("select revoked_at, replaced_by from personal_access_token where id = $1", [
    theirs.token,
  ]);
  expect(token).toEqual({ revoked_at: null, replaced_by: null });
  expect(
    await accounts.query("select role, person_id from member where account_id = $1", [theirs.organization]),
  ).toEqual([{ role: "owner", person_id: theirs.owner }]);
  expect(await accounts.query("select revoked_at from oauth_grant where id = $1", [theirs.grant])).toEqual([
    { revoked_at: null },
  ]);
});

test("a rejected call does not affect the next call on the same HTTP/2 connection", async () => {
  const api = createProtocolClient("grpc", service.url);
  const statuses = [];
  for (let count = 0; count < 20; count += 1)
    statuses.push((await api.call("DeleteConnection", { input: { server_id: "1" } })).status);
  expect(new Set(statuses)).toEqual(new Set(["unauthenticated"]));
});

/** Documented paths without a bearer token, with the reason. */
const PUBLIC_PATHS = [
  "/oauth2/token", // its own authentication
  "/.well-known/jwks.json",
  "/.well-known/oauth-authorization-server",
  "/livez",
  "/healthz",
  "/readyz",
];

const documented = listOperations(await readDocument());

test.each(documented.map(({ method, path }) => [method, path]))(
  "%s %s requires a token unless it is intentionally public",
  async (method, path) => {
    const response = await fetch(service.url + path.replace("{server_id}", "1").replace("{server_type}", "mcp"), {
      method,
    });
    await response.body?.cancel();
    if (path === "/oauth2/token") expect(response.headers.get("www-authenticate")).toMatch(/^Basic /);
    else expect(response.status).toBe(PUBLIC_PATHS.includes(path) ? 200 : 401);
  },
);

test.each(["/api", "/api/v1", "/api/v1/mcp-server", "/metrics", "/debug", "/.env", "/administration"])(
  "%s returns 404 for everyone",
  async (path) => {
    for (const token of [undefined, await otherAccount.token("mgmt.admin")]) {
      const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const response = await fetch(service.url + path, { headers });
      expect([response.status, Object.keys(Object(await response.json()))]).toEqual([404, ["detail", "code"]]);
    }
  },
);
