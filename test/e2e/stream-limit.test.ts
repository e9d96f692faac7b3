import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Service, startService } from "../support/service.ts";
import { watchGrpc } from "../support/watch.ts";

const LIMIT = 200;
const REFUSAL = `The account has ${LIMIT} streams open, which is the limit. Close one, then open another.`;

let database: TestDatabase;
let service: Service;
beforeAll(async () => {
  database = await createTestDatabase();
  service = await startService({ databaseUrl: database.url });
}, 60_000);
afterAll(async () => {
  await service?.stop();
  await database?.close();
});

async function newToken(email: string): Promise<string> {
  await service.command("account", "create", "--email", email);
  const created = await service.command("pat", "create", "--account", email, "--scope", "mgmt.read mcp.read");
  return String(created["token"]);
}

test("limits an account to 200 streams over all protocols, without affecting other accounts", async () => {
  const [token, other] = [await newToken("busy@example.com"), await newToken("other@example.com")];
  const closing = new AbortController();
  const events = (bearer: string, signal: AbortSignal): Promise<Response> =>
    fetch(`${service.url}/api/v1/mcp-servers/events`, { headers: { authorization: `Bearer ${bearer}` }, signal });
  const opened = await Promise.all(Array.from({ length: LIMIT }, () => events(token, closing.signal)));
  expect(new Set(opened.map(({ status }) => status))).toEqual(new Set([200]));

  const rest = await events(token, closing.signal);
  expect(rest.status).toBe(429);
  expect(rest.headers.get("retry-after")).toBe("10");
  expect(await rest.json()).toMatchObject({ detail: REFUSAL });
  expect(await watchGrpc(service.url, token).ended).toMatchObject({ code: 8, rawMessage: REFUSAL });
  const mcp = await fetch(`${service.url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    }),
  });
  const listen = {
    authorization: `Bearer ${token}`,
    accept: "text/event-stream",
    "mcp-session-id": mcp.headers.get("mcp-session-id") ?? "",
    "mcp-protocol-version": "2025-06-18",
  };
  const stream = await fetch(`${service.url}/mcp`, { headers: listen });
  expect([stream.status, await stream.text()]).toEqual([429, expect.stringContaining(REFUSAL)]);

  const foreign = await events(other, closing.signal);
  expect(foreign.status).toBe(200);
  closing.abort();
  await expect.poll(async () => (await events(token, AbortSignal.timeout(5_000))).status).toBe(200);
}, 60_000);
