import { afterAll, beforeAll, expect, test } from "vitest";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { watchRest } from "../support/watch.ts";

let database: TestDatabase;
let upstream: Upstream;
let service: Service;
let accounts: TestAccounts;

beforeAll(async () => {
  database = await createTestDatabase();
  upstream = await startUpstream();
  service = await startService({ databaseUrl: database.url, env: { OUTBOUND_ALLOW: upstream.host } });
  accounts = await openAccounts(service.env);
});

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await Promise.all([upstream?.close(), database?.close()]);
});

test("a watch reports a connection as failed when a call's verified key is rejected", async () => {
  const token = await (await accounts.create()).token();
  const { call } = createProtocolClient("rest", service.url);
  upstream.key = "first-key-of-the-upstream";
  const configuration = { url: upstream.url, api_token: upstream.key };
  const created = await call("CreateConnection", { token, input: { server_type: "mcp", configuration } });
  const { server_id: id } = created.body as { server_id: string };
  const status = async (wanted: string): Promise<boolean> =>
    until(
      async () => {
        const { body } = await call("GetConnection", { token, input: { server_id: id } });
        expect(body).toMatchObject({ data: { api_key_verification_status: wanted } });
        return true;
      },
      { what: wanted },
    );
  await status("verified");
  await until(
    async () => {
      const { body } = await call("ListConnectionTools", { token, input: { server_id: id } });
      expect(body).toMatchObject({ data: { total_count: 3 } });
      return true;
    },
    { what: "tools" },
  );
  const { sessionId } = (await call("Initialize", { token })).body as { sessionId: string };
  const watch = watchRest(service.url, token, id);
  upstream.key = "second-key-of-the-upstream";
  const answer = await call("CallTool", { token, headers: { "x-session-id": sessionId }, input: { name: "look_up" } });
  expect(answer.body).toMatchObject({ isError: true });
  expect(answer.body).not.toHaveProperty("upstreamFault");
  await watch.event(({ event, connections }) => {
    const shown = JSON.stringify(connections ?? null);
    return event === "updated" && shown.includes('"api_key_verification_status":"failed"');
  }, "failed");
  watch.close();
  await until(
    async () => {
      const { body } = await call("ListCalls", { token, input: { server_id: id, outcome: "upstream_error" } });
      expect(body).toMatchObject({ data: [{ tool: "look_up" }] });
      return true;
    },
    { what: "the history" },
  );
});
