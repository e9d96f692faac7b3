import { getOption } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { error_texts } from "../../gen/proto/patchbay/v1/options_pb.ts";
import type { JsonObject } from "../../src/json.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient, operationNamed } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { PROTOCOL_NAMES } from "../support/outcome.ts";
import { type Service, startService } from "../support/service.ts";

let database: TestDatabase;
let service: Service;
let accounts: TestAccounts;
let token: string;

/** Tables that the operations need. */
const TABLES = ["call_record", "connection", "session"];

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startService({ databaseUrl: database.url });
  accounts = await openAccounts(service.env);
  token = await (await accounts.create()).token();
  await createProtocolClient("rest", service.url).call("ListConnections", { token });
  for (const table of TABLES) await accounts.query(`alter table ${table} rename to ${table}_away`);
});

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await database?.close();
});

const session = { "x-session-id": "A".repeat(32) };

/** A valid request of each operation, which fails only in the database. */
const REQUESTS: Readonly<
  Record<string, { readonly input: JsonObject; readonly headers?: Readonly<Record<string, string>> }>
> = {
  CreateConnection: { input: { server_type: "bamboohr", configuration: { company_domain: "acme" } } },
  ListConnections: { input: {} },
  GetConnection: { input: { server_id: "1" } },
  UpdateConnection: { input: { server_id: "1", name: "Renamed" } },
  DeleteConnection: { input: { server_id: "1" } },
  ListConnectionTools: { input: { server_id: "1" } },
  WatchConnections: { input: {} },
  ListCalls: { input: {} },
  GetUsage: { input: {} },
  GetCall: { input: { server_id: "1", call_id: "1" } },
  ListConnectionUsage: { input: {} },
  Initialize: { input: {} },
  ListTools: { input: {}, headers: session },
  CallTool: { input: { name: "look_up" }, headers: session },
};

describe.each(Object.entries(REQUESTS))("%s", (operation, request) => {
  test.each(PROTOCOL_NAMES)("returns an internal error without the cause over %s", async (protocol) => {
    const outcome = await createProtocolClient(protocol, service.url).call(operation, { ...request, token });
    const text = getOption(operationNamed(operation), error_texts).internal;
    expect([outcome.status, outcome.message, outcome.reason]).toEqual([
      protocol === "rest" ? 500 : "internal",
      `${text}: internal error`,
      "INTERNAL",
    ]);
    if (protocol === "rest") expect(outcome.body).toEqual({ detail: outcome.message, code: "INTERNAL" });
  });
});

test("logs the cause", () => {
  expect(service.output()).toMatch(/relation \\"(connection|session)\\" does not exist/);
});

test("works again once the database is restored", async () => {
  for (const table of TABLES) await accounts.query(`alter table ${table}_away rename to ${table}`);
  const outcome = await createProtocolClient("rest", service.url).call("ListConnections", { token });
  expect(outcome.body).toEqual({ success: true, data: [] });
});
