import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createMasterKeys, type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

let database: TestDatabase;
let upstream: Upstream;
let replicas: readonly Service[];
let accounts: TestAccounts;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  upstream = await startUpstream();
  const masterKeys = createMasterKeys();
  const env = { OUTBOUND_ALLOW: upstream.host, PUBLIC_URL: "http://patchbay.example" };
  const start = () => startService({ databaseUrl: database.url, masterKeys, env });
  const first = await start();
  replicas = [first, await start()];
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  accounts = await openAccounts(first.env);
});

afterAll(async () => {
  await Promise.all((replicas ?? []).map((replica) => replica.stop()));
  await accounts?.close();
  await client?.end();
  await Promise.all([upstream?.close(), database?.close()]);
});

const PROTOCOLS = ["rest", "grpc", "connect", "grpc-web"] as const;

test("twenty concurrent identical creations over four protocols and two replicas create one connection", async () => {
  const token = await (await accounts.create()).token();
  const input = { server_type: "mcp", configuration: { url: upstream.url, api_token: "canary-of-the-key" } };
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, index) => {
      const api = createProtocolClient(PROTOCOLS[index % 4] ?? "rest", replicas[Math.floor(index / 4) % 2]?.url ?? "");
      return api.call("CreateConnection", { input, token, headers: { "idempotency-key": "all-at-once" } });
    }),
  );
  expect(outcomes.map(({ status, message }) => `${status} ${message}`.trim())).toEqual(
    outcomes.map((_, index) => (index % 4 === 0 ? "201" : "ok")),
  );
  expect(new Set(outcomes.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  expect(outcomes.filter(({ headers }) => headers.get("idempotency-replayed") === "true")).toHaveLength(19);
  const [replica] = replicas;
  const listed = await createProtocolClient("rest", replica?.url ?? "").call("ListConnections", { token });
  expect(listed.body).toMatchObject({ data: [{ id: expect.any(Number) }] });
});

test("an Idempotency-Key belongs to one account", async () => {
  const input = { server_type: "mcp", configuration: { url: upstream.url } };
  const ids = await Promise.all(
    [1, 2].map(async () => {
      const token = await (await accounts.create()).token();
      const rest = createProtocolClient("rest", replicas[0]?.url ?? "");
      const { body } = await rest.call("CreateConnection", { input, token, headers: { "idempotency-key": "shared" } });
      return Object(body).server_id;
    }),
  );
  expect(new Set(ids).size).toBe(2);
});

test("after one day the same request and key create another connection", async () => {
  const token = await (await accounts.create()).token();
  const input = { server_type: "mcp", configuration: { url: upstream.url } };
  const send = async () => {
    const rest = createProtocolClient("rest", replicas[0]?.url ?? "");
    const outcome = await rest.call("CreateConnection", { input, token, headers: { "idempotency-key": "day" } });
    return Object(outcome.body).server_id;
  };
  const first = await send();
  await client.query("update idempotency_key set expires_at = now() where key = 'day'");
  const second = await send();
  expect(second).not.toBe(first);
  expect(await send()).toBe(second);
});

test("stores nothing secret with an Idempotency-Key", async () => {
  const token = await (await accounts.create()).token();
  const input = { server_type: "mcp", configuration: { url: upstream.url, api_token: "canary-of-the-key" } };
  const rest = createProtocolClient("rest", replicas[0]?.url ?? "");
  await rest.call("CreateConnection", { input, token, headers: { "idempotency-key": "kept" } });
  const { rows } = await client.query("select row_to_json(k)::text as text from idempotency_key k where key = 'kept'");
  expect(rows).toEqual([{ text: expect.stringContaining('"server_type":"mcp"') }]);
  expect(rows[0].text).not.toContain("canary-of-the-key");
  expect(rows[0].text).not.toContain(Buffer.from("canary-of-the-key").toString("hex"));
});

test("only one of several concurrent changes with the same If-Match succeeds, over two replicas", async () => {
  const token = await (await accounts.create()).token();
  const input = { server_type: "mcp", configuration: { url: upstream.url } };
  const apis = replicas.map(({ url }) => createProtocolClient("rest", url));
  const rest = (index: number) => apis[index % apis.length] ?? createProtocolClient("rest", "");
  const { server_id } = Object((await rest(0).call("CreateConnection", { input, token })).body);
  const read = async () => rest(0).call("GetConnection", { input: { server_id }, token });
  await until(async () => Object((await read()).body).data.api_key_verification_status === "verified");
  const headers = { "if-match": (await read()).headers.get("etag") ?? "" };

  const updates = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      rest(index).call("UpdateConnection", { input: { server_id, name: `Name ${index}` }, token, headers }),
    ),
  );
  expect(updates.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 11 }, () => 412)]);
  const winner = updates.find(({ status }) => status === 200);
  expect(Object((await read()).body).data).toEqual(Object(winner?.body).data);

  const again = { "if-match": (await read()).headers.get("etag") ?? "" };
  const endings = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      index % 2 === 0
        ? rest(index / 2).call("DeleteConnection", { input: { server_id }, token, headers: again })
        : rest((index - 1) / 2).call("UpdateConnection", {
            input: { server_id, name: `${index}` },
            token,
            headers: again,
          }),
    ),
  );
  expect(endings.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(endings.every(({ status }) => [200, 404, 412].includes(Number(status)))).toBe(true);
});
