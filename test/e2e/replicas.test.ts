import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient, type ProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { createMasterKeys, runCommand, type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { watchGrpc, watchRest } from "../support/watch.ts";

let database: TestDatabase;
let upstream: Upstream;
let replicas: readonly Service[];
let accounts: TestAccounts;
let account: TestAccount;
let here: Owner;
let there: Owner;
let apiThere: ProtocolClient;
let urlThere: string;

beforeAll(async () => {
  [database, upstream] = await Promise.all([createTestDatabase({ empty: true }), startUpstream()]);
  const options = {
    databaseUrl: database.url,
    masterKeys: createMasterKeys(),
    env: { OUTBOUND_ALLOW: upstream.host, PUBLIC_URL: "http://patchbay.example.com:8080" },
  };
  // Two replicas start at once on an empty database: one migrates, the other waits.
  replicas = await Promise.all([startService(options), startService(options)]);
  const [first, second] = replicas;
  if (first === undefined || second === undefined) throw new Error("expected two replicas");
  accounts = await openAccounts(first.env);
  account = await accounts.create();
  const token = await account.token();
  urlThere = second.url;
  apiThere = createProtocolClient("grpc", second.url);
  here = createOwner(createProtocolClient("rest", first.url), token);
  there = createOwner(apiThere, token);
});

afterAll(async () => {
  await Promise.all((replicas ?? []).map((service) => service.stop()));
  await accounts?.close();
  await upstream?.close();
  await database?.close();
});

async function verified(): Promise<string> {
  const id = await here.create({ server_type: "mcp", name: "Shared", configuration: { url: upstream.url } });
  await here.waitFor(id, "verified");
  return id;
}

/** The response of a replica over gRPC. */
async function statusThere(
  operation: string,
  input: JsonObject,
  token: string,
  headers: Readonly<Record<string, string>> = {},
) {
  const { status, body } = await apiThere.call(operation, { input, token, headers });
  return { status, body: body as JsonObject | null };
}

test("only one of two replicas that start together creates the first account", () => {
  const printed = replicas.filter((service) => service.stdout().includes("client secret"));
  expect(printed).toHaveLength(1);
});

test("a session opened on one replica works on the other", async () => {
  const id = await verified();
  const session = await here.open();
  expect(await there.call("CallTool", { name: `look_up__${id}`, arguments: { text: "a" } }, session)).toMatchObject({
    isError: false,
  });
  expect(await here.call("CallTool", { name: `look_up__${id}` }, session)).toMatchObject({ isError: false });
});

test("watches and calls on one replica see changes made on the other", async () => {
  const id = await verified();
  const watches = [watchRest(urlThere, here.token, id), watchGrpc(urlThere, here.token)];
  for (const watch of watches) await watch.event(({ event }) => event === "snapshot", "snapshot");
  await here.call("UpdateConnection", { server_id: id, name: "Renamed here", agent_enabled: false });
  for (const watch of watches) {
    await watch.event(
      (event) => event["event"] === "updated" && JSON.stringify(event).includes("Renamed here"),
      "the new name",
    );
    watch.close();
  }
  const session = await there.open();
  await until(
    async () =>
      (await statusThere("CallTool", { name: `look_up__${id}` }, there.token, session)).status === "not_found",
  );
});

test("a replica returns 404 for a connection that was deleted on the other", async () => {
  const id = await verified();
  const session = await there.open();
  const bound = await account.token("mgmt.read mcp.read", Number(id));
  expect(await there.call("CallTool", { name: `look_up__${id}` }, session)).toMatchObject({ isError: false });
  expect((await statusThere("GetConnection", { server_id: id }, bound)).status).toBe("ok");
  await here.call("DeleteConnection", { server_id: id });
  await until(
    async () =>
      (await statusThere("CallTool", { name: `look_up__${id}` }, there.token, session)).status === "not_found",
  );
  await until(async () => (await statusThere("GetConnection", { server_id: id }, there.token)).status === "not_found");
  // A token bound to the connection is no longer valid.
  await until(async () => (await statusThere("ListConnections", {}, bound)).status === "unauthenticated");
});

test("every replica refuses a token revoked by the command line and ends its watches", async () => {
  const [first] = replicas;
  const created = await runCommand(
    first?.env ?? {},
    "pat",
    "create",
    "--account",
    account.email,
    "--scope",
    "mgmt.read",
  );
  const token = String(created["token"]);
  expect((await statusThere("ListConnections", {}, token)).status).toBe("ok");
  const watches = replicas.map(({ url }) => watchRest(url, token));
  for (const watch of watches) await watch.event(({ event }) => event === "snapshot", "snapshot");
  await runCommand(first?.env ?? {}, "pat", "revoke", String(created["id"]));
  await until(async () => (await statusThere("ListConnections", {}, token)).status === "unauthenticated");
  for (const watch of watches) {
    expect(await watch.event(({ event }) => event === "error", "the end")).toEqual({
      event: "error",
      detail: "Invalid or expired token.",
      code: "CREDENTIALS_INVALID",
    });
    await watch.ended;
  }
});

test("narrowing access on one replica revokes tokens and sessions of the connection's client on the other", async () => {
  const id = await verified();
  const clientSecret = "s".repeat(48);
  const { data } = await here.call("UpdateConnection", { server_id: id, oauth2_client_secret: clientSecret });
  const clientId = String((data as JsonObject)["oauth2_client_id"]);
  const authorization = `Basic ${btoa(`${clientId}:${clientSecret}`)}`;
  const ask = async (): Promise<JsonObject> => {
    const body = new URLSearchParams({ grant_type: "client_credentials" });
    const response = await fetch(`${urlThere}/oauth2/token`, { method: "POST", headers: { authorization }, body });
    return (await response.json()) as JsonObject;
  };
  const before = await ask();
  expect(before).toMatchObject({ scope: "mcp.read mcp.write", token_type: "Bearer" });
  const client = createOwner(apiThere, String(before["access_token"]));
  const session = await client.open();
  expect(await client.call("CallTool", { name: "change" }, session)).toMatchObject({ isError: false });

  await here.call("UpdateConnection", { server_id: id, access_type: "read" });
  await until(async () => (await statusThere("Initialize", {}, client.token)).status === "unauthenticated");
  const after = await ask();
  expect(after["scope"]).toBe("mcp.read");
  const narrowed = String(after["access_token"]);
  expect((await statusThere("ListTools", {}, narrowed, session)).status).toBe("not_found");
  const anew = createOwner(apiThere, narrowed);
  await until(async () => {
    const { tools } = await anew.call("ListTools", {}, await anew.open());
    return JSON.stringify((tools as JsonObject[]).map(({ name }) => name)) === '["look_up"]';
  });
});

test("every replica refuses a disabled account", async () => {
  const [first] = replicas;
  const other = await accounts.create();
  const token = await other.token();
  expect((await statusThere("ListConnections", {}, token)).status).toBe("ok");
  await runCommand(first?.env ?? {}, "account", "disable", "--account", other.id);
  await until(async () => (await statusThere("ListConnections", {}, token)).status === "unauthenticated");
});

test("a replica with other master keys refuses to start, with a reason", async () => {
  const env = { OUTBOUND_ALLOW: upstream.host };
  await expect(startService({ databaseUrl: database.url, masterKeys: createMasterKeys(), env })).rejects.toThrow(
    /ended with 1:\n.*(key|fingerprint)/is,
  );
});
