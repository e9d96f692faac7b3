import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { runChild } from "../support/child-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Service, startService } from "../support/service.ts";

let database: TestDatabase;
let service: Service;
let accounts: TestAccounts;
let token: string;
/** An empty folder, so that buf knows only what the service returns. */
let folder: string;

beforeAll(async () => {
  [database, folder] = await Promise.all([createTestDatabase(), mkdtemp(join(tmpdir(), "patchbay-buf-"))]);
  service = await startService({ databaseUrl: database.url });
  accounts = await openAccounts(service.env);
  token = await (await accounts.create()).token();
});

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await database?.close();
  await rm(folder, { recursive: true, force: true });
});

async function bufCurl(...args: readonly string[]): Promise<{ readonly code: unknown; readonly output: string }> {
  const command = new URL("../../node_modules/.bin/buf", import.meta.url).pathname;
  const { code, output } = await runChild({
    command,
    args: ["curl", "--http2-prior-knowledge", ...args],
    folder,
    env: { HOME: folder },
  });
  return { code, output };
}

test("buf lists the services through server reflection", async () => {
  const { code, output } = await bufCurl("--list-services", service.url);
  expect(code).toBe(0);
  expect(output.trim().split("\n")).toEqual(
    expect.arrayContaining(["patchbay.v1.ConnectionService", "patchbay.v1.RuntimeService", "grpc.health.v1.Health"]),
  );
});

test("buf lists the methods through server reflection", async () => {
  const { output } = await bufCurl("--list-methods", service.url);
  for (const method of [
    "CreateConnection",
    "ListConnections",
    "GetConnection",
    "UpdateConnection",
    "DeleteConnection",
    "ListConnectionTools",
    "WatchConnections",
  ]) {
    expect(output).toContain(`patchbay.v1.ConnectionService/${method}`);
  }
});

test.each(["grpc", "grpcweb", "connect"])("buf calls an RPC through server reflection over %s", async (protocol) => {
  const path = `${service.url}/patchbay.v1.ConnectionService/`;
  const authorization = ["-H", `authorization: Bearer ${token}`];
  const created = await bufCurl(
    "--protocol",
    protocol,
    ...authorization,
    "-d",
    '{"server_type":"bamboohr","configuration":{"company_domain":"acme"}}',
    `${path}CreateConnection`,
  );
  expect(created.code).toBe(0);
  expect(JSON.parse(created.output)).toMatchObject({ server_id: expect.any(String), status: "active" });
  const listed = await bufCurl("--protocol", protocol, ...authorization, `${path}ListConnections`);
  expect(JSON.parse(listed.output)).toMatchObject({
    success: true,
    data: expect.arrayContaining([expect.objectContaining({ mcp_server_name: "BambooHR" })]),
  });
  const refused = await bufCurl("--protocol", protocol, `${path}ListConnections`);
  expect(refused.code).not.toBe(0);
  expect(JSON.parse(refused.output)).toMatchObject({
    code: "unauthenticated",
    message: "Authentication credentials were not provided.",
  });
});

test("the health service requires no token", async () => {
  const { code, output } = await bufCurl(
    "--protocol",
    "grpc",
    "-d",
    "{}",
    `${service.url}/grpc.health.v1.Health/Check`,
  );
  expect([code, JSON.parse(output)]).toEqual([0, { status: "SERVING" }]);
});
