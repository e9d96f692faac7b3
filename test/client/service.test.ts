import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Code, createConnectClients, createClientCredentials, type TokenSource } from "../../src/client/connect.ts";
import { createGrpcClients } from "../../src/client/grpc.ts";
import { createRestClient } from "../../src/client/rest.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Service, startService } from "../support/service.ts";

let database: TestDatabase;
let service: Service;
let accounts: TestAccounts;
let credentials: { clientId: string; clientSecret: string };
let token: TokenSource;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startService({ databaseUrl: database.url });
  accounts = await openAccounts(service.env);
  credentials = await (await accounts.create()).client("mgmt.read mgmt.write mcp.write");
  token = createClientCredentials({ baseUrl: service.url, ...credentials });
});
afterAll(async () => {
  await accounts.close();
  await service.stop();
  await database.close();
});

test("the REST client creates, lists and deletes, and types the service's errors", async () => {
  const client = createRestClient({ baseUrl: service.url, token });
  const body = { server_type: "bamboohr", configuration: { company_domain: "acme" } };
  const created = await client.POST("/api/v1/mcp-servers", { body });
  const params = { path: { server_id: created.data?.server_id ?? "" } };
  expect((await client.GET("/api/v1/mcp-servers")).data?.data).toHaveLength(1);
  expect((await client.DELETE("/api/v1/mcp-servers/{server_id}", { params })).response.status).toBe(200);
  const { error } = await client.GET("/api/v1/mcp-servers/{server_id}", { params });
  expect(error?.detail).toBe(`MCP server ${params.path.server_id} not found or not accessible`);
});

describe.each([
  ["Connect", createConnectClients],
  ["gRPC", createGrpcClients],
])("the clients over %s", (_, createThem) => {
  test("create, watch and delete, and fail with the service's code", async () => {
    const { connections } = createThem({ baseUrl: service.url, token });
    const configuration = { company_domain: "acme" };
    const { serverId } = await connections.createConnection({ serverType: "bamboohr", configuration });
    for await (const event of connections.watchConnections({ serverId })) {
      expect(event.event).not.toBe("");
      break;
    }
    await connections.deleteConnection({ serverId });
    await expect(connections.getConnection({ serverId })).rejects.toMatchObject({ code: Code.NotFound });
  });

  test("continue with a new token after theirs was revoked", async () => {
    const own = createClientCredentials({ baseUrl: service.url, ...credentials });
    const { connections } = createThem({ baseUrl: service.url, token: own });
    await connections.listConnections({});
    const revoked = await own.token();
    await fetch(`${service.url}/oauth2/revoke`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${credentials.clientId}:${credentials.clientSecret}`)}` },
      body: new URLSearchParams({ token: revoked }),
    });
    expect((await connections.listConnections({})).success).toBe(true);
    expect(await own.token()).not.toBe(revoked);
  });
});
