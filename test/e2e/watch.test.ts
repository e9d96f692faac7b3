import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openAccounts, type TestAccount, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { watchGrpc, watchRest } from "../support/watch.ts";

let database: TestDatabase;
let service: Service;
let accounts: TestAccounts;
let account: TestAccount;
let owner: Owner;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startService({ databaseUrl: database.url });
  accounts = await openAccounts(service.env);
  account = await accounts.create();
  owner = createOwner(createProtocolClient("rest", service.url), await account.token());
});

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await database?.close();
});

const draft = { server_type: "bamboohr", configuration: { company_domain: "acme" } };

test("a watch ends when its token expires", async () => {
  const expiring = (): Promise<string> => accounts.forge(account, { exp: Math.floor(Date.now() / 1000) + 3 });
  const rest = watchRest(service.url, await expiring());
  const grpc = watchGrpc(service.url, await expiring());
  for (const watch of [rest, grpc]) await watch.event(({ event }) => event === "snapshot", "snapshot");
  expect(await rest.ended).toBeUndefined();
  expect(rest.events.at(-1)).toEqual({
    event: "error",
    detail: "Invalid or expired token.",
    code: "CREDENTIALS_INVALID",
  });
  const failure = await grpc.ended;
  expect(failure).toBeInstanceOf(ConnectError);
  expect(ConnectError.from(failure).code).toBe(Code.Unauthenticated);
});

test("an idle watch sends heartbeats", async () => {
  const watch = watchRest(service.url, owner.token);
  await until(() => Promise.resolve(watch.events.some(({ event }) => event === "heartbeat")), { withinMs: 25_000 });
  expect(watch.events.map(({ event }) => event)).toEqual(["snapshot", "heartbeat"]);
  watch.close();
});

test("a watch sends connections created later, and none of other accounts", async () => {
  const otherOwner = createOwner(createProtocolClient("grpc", service.url), await (await accounts.create()).token());
  const own = watchRest(service.url, owner.token);
  const theirs = watchGrpc(service.url, otherOwner.token);
  for (const watch of [own, theirs]) await watch.event(({ event }) => event === "snapshot", "snapshot");
  const id = await owner.create({ ...draft, name: "Made while watched" });
  await own.event((event) => JSON.stringify(event).includes("Made while watched"), "the new connection");
  const other = await otherOwner.create({ ...draft, name: "Another account's" });
  await theirs.event((event) => JSON.stringify(event).includes("Another account's"), "their own");
  await owner.call("DeleteConnection", { server_id: id });
  await own.event(({ event }) => event === "deleted", "the deletion");
  expect(own.events.map(({ event }) => event)).toEqual(["snapshot", "updated", "deleted"]);
  expect(own.events.at(-1)).toMatchObject({ server_id: id, connections: [] });
  expect(JSON.stringify(own.events)).not.toContain("Another account's");
  expect(theirs.events.filter(({ server_id: gone }) => gone === id)).toEqual([]);
  await otherOwner.call("DeleteConnection", { server_id: other });
  for (const watch of [own, theirs]) watch.close();
});

test("hundreds of closed watches release their resources", async () => {
  for (let round = 0; round < 5; round += 1) {
    const watches = Array.from({ length: 60 }, () => watchRest(service.url, owner.token));
    for (const watch of watches) await watch.event(({ event }) => event === "snapshot", "snapshot");
    for (const watch of watches) watch.close();
  }
  // Each watch would add a listener; Node warns about more than ten on one emitter.
  expect(service.output()).not.toMatch(/MaxListenersExceeded/);
  expect(await owner.call("ListConnections")).toMatchObject({ success: true });
});
