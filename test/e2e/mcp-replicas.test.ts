import { createServer } from "node:http";
import { once } from "node:events";
import { isDeepStrictEqual } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import {
  INITIALIZED,
  result,
  startScriptedUpstream,
  stream as sendEvents,
} from "../integrations/mcp/scripted-upstream.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createWire, modernHeaders, modernMeta, type Wire, type WireStream } from "../support/mcp-wire.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { createMasterKeys, type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { describeTool, startUpstream, type Upstream } from "../support/upstream.ts";

let database: TestDatabase;
let upstream: Upstream;
let notifying: Awaited<ReturnType<typeof startNotifying>>;
let replicas: readonly Service[];
let accounts: TestAccounts;
let account: TestAccount;
let owner: Owner;
let here: Wire;
let there: Wire;

beforeAll(async () => {
  [database, upstream, notifying] = await Promise.all([createTestDatabase(), startUpstream(), startNotifying()]);
  await slow.listen();
  const options = {
    databaseUrl: database.url,
    masterKeys: createMasterKeys(),
    env: {
      OUTBOUND_ALLOW: `${upstream.host},${slow.host()},${new URL(notifying.server.url).host}`,
      PUBLIC_URL: "http://patchbay.example.com:8080",
    },
  };
  replicas = await Promise.all([startService(options), startService(options)]);
  accounts = await openAccounts(replicas[0]?.env ?? {});
  account = await accounts.create();
  const token = await account.token();
  owner = createOwner(createProtocolClient("rest", urlOf(0)), token);
  here = createWire(urlOf(0), token);
  there = createWire(urlOf(1), token);
}, 90_000);

afterAll(async () => {
  await Promise.all((replicas ?? []).map((service) => service.stop()));
  await accounts?.close();
  await upstream?.close();
  notifying?.server.close();
  slow.close();
  await database?.close();
});

function urlOf(index: number): string {
  return replicas[index]?.url ?? "";
}

/** An MCP server with one resource. `notify` reports its change to every session that listens. */
async function startNotifying() {
  const updated = { jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: "a://1" } };
  const streams: ((message: unknown) => void)[] = [];
  let sessions = 0;
  const server = await startScriptedUpstream({
    initialize: (request, response) => {
      response.setHeader("mcp-session-id", `session-${(sessions += 1)}`);
      result({ ...INITIALIZED, capabilities: { tools: {}, resources: { subscribe: true } } })(request, response);
    },
    "resources/list": result({ resources: [{ uri: "a://1", name: "one" }] }),
    "resources/templates/list": result({ resourceTemplates: [] }),
    "resources/subscribe": result({}),
    "resources/unsubscribe": result({}),
    GET: (_request, response) => void streams.push(sendEvents(response).send),
  });
  const notify = (): void => {
    for (const send of streams) send(updated);
  };
  return { server, notify };
}

/** An MCP server whose only tool never answers. It records disconnects and cancellations. */
const slow = (() => {
  const canceled: unknown[] = [];
  let running = 0;
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array));
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString() || "{}") as {
        id?: unknown;
        method?: string;
        params?: { requestId?: unknown };
      };
      if (method === "notifications/cancelled") canceled.push(params?.requestId);
      if (id === undefined) return response.writeHead(request.method === "POST" ? 202 : 405).end();
      if (method === "tools/call") {
        running += 1;
        response.on("close", () => (running -= 1));
        return undefined;
      }
      const result =
        method === "initialize"
          ? {
              protocolVersion: "2025-06-18",
              capabilities: { tools: {} },
              serverInfo: { name: "slow", version: "1" },
            }
          : { tools: [describeTool("wait")] };
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    })();
  });
  const host = (): string => {
    const address = server.address();
    return typeof address === "object" && address !== null ? `127.0.0.1:${address.port}` : "";
  };
  return {
    host,
    canceled,
    running: () => running,
    listen: async () => {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
})();

async function connect(url: string): Promise<string> {
  const id = await owner.create({ server_type: "mcp", configuration: { url } });
  await owner.waitFor(id, "verified");
  return id;
}

async function openStream(wire: Wire, options: Parameters<Wire["stream"]>[0]): Promise<WireStream> {
  const stream = await wire.stream(options);
  expect(stream.status).toBe(200);
  onTestFinished(() => stream.close());
  return stream;
}

const isListChanged = ({ method }: { method?: unknown }): boolean => method === "notifications/tools/list_changed";

async function toldTimes(stream: WireStream, times: number): Promise<void> {
  await until(async () => stream.messages.filter(isListChanged).length >= times, { what: `${times} notifications` });
}

test("a session opened on one replica works on the other, and ends on both", async () => {
  const id = await connect(upstream.url);
  const session = await here.open();
  const call = { name: `look_up__${id}`, arguments: { text: "a" } };
  expect((await there.call("tools/call", call, { headers: session })).last).toMatchObject({
    result: { content: [{ type: "text" }] },
  });
  expect((await there.send({ method: "DELETE", headers: session })).status).toBe(204);
  await until(async () => (await here.call("ping", {}, { headers: session })).status === 404, { withinMs: 1_500 });
  expect((await there.call("ping", {}, { headers: session })).status).toBe(404);
});

test("sends a change on one replica once to streams on the other, and only if it is visible", async () => {
  const id = await connect(upstream.url);
  await here.call("tools/list", {}, { headers: await here.open() });
  const session = await there.open();
  const stream = await openStream(there, { headers: session });
  const listenParams = { notifications: { toolsListChanged: true }, _meta: modernMeta() };
  const modern = await openStream(there, {
    method: "POST",
    headers: modernHeaders("subscriptions/listen"),
    body: { jsonrpc: "2.0", id: "sub", method: "subscriptions/listen", params: listenParams },
  });

  await owner.call("UpdateConnection", { server_id: id, description: "Another description" });
  await sleep(500);
  expect([...stream.messages, ...modern.messages].filter(isListChanged)).toEqual([]);

  await owner.call("UpdateConnection", { server_id: id, access_type: "read" });
  await toldTimes(stream, 1);
  await toldTimes(modern, 1);
  expect(modern.messages.map(({ params }) => params)).toEqual(
    modern.messages.map(() =>
      expect.objectContaining({ _meta: expect.objectContaining({ "io.modelcontextprotocol/subscriptionId": "sub" }) }),
    ),
  );

  await owner.call("UpdateConnection", { server_id: id, agent_enabled: false });
  await toldTimes(stream, 2);
  await owner.call("UpdateConnection", { server_id: id, agent_enabled: true });
  await toldTimes(stream, 3);
  const added = await connect(upstream.url);
  await toldTimes(stream, 4);
  await owner.call("DeleteConnection", { server_id: added });
  await toldTimes(stream, 5);
  await toldTimes(modern, 5);
});

test("a subscription accepted by one replica reaches the stream on the other", async () => {
  const { server } = notifying;
  const id = await connect(server.url);
  const session = await here.open();
  const stream = await openStream(there, { headers: session });
  const uri = `patchbay://${id}/a://1`;
  expect((await here.call("resources/subscribe", { uri }, { headers: session })).last).toMatchObject({ result: {} });
  const subscribed = server.of("resources/subscribe").map(({ message }) => message.params);
  expect(subscribed).toContainEqual({ uri: "a://1" });
  // The replica with the stream subscribes in the upstream session of its own calls.
  await until(async () => {
    notifying.notify();
    return stream.messages.some(({ params }) => isDeepStrictEqual(params, { uri }));
  });
  await here.call("resources/unsubscribe", { uri }, { headers: session });
  await server.until("resources/unsubscribe");
});

test("sends missed notifications to a client that reconnects to the other replica", async () => {
  const id = await connect(upstream.url);
  const session = await here.open();
  const stream = await openStream(here, { headers: session });
  await until(async () => stream.lastEventId() !== undefined);
  stream.close();
  const lastEventId = stream.lastEventId();
  const unchanged = await openStream(there, { headers: { ...session, "last-event-id": lastEventId } });
  await sleep(500);
  expect(unchanged.messages.filter(isListChanged)).toEqual([]);
  unchanged.close();
  await owner.call("UpdateConnection", { server_id: id, access_type: "read" });
  const changed = await openStream(there, { headers: { ...session, "last-event-id": lastEventId } });
  await toldTimes(changed, 1);
});

test("a call can be canceled from the other replica and gets no response", async () => {
  const id = await connect(`http://${slow.host()}/mcp`);
  const session = await here.open();
  const before = slow.canceled.length;
  const body = { jsonrpc: "2.0", id: "slow-1", method: "tools/call", params: { name: `wait__${id}` } };
  const answer = here.send({ headers: session, body });
  await until(async () => slow.running() === 1, { what: "the call has reached the upstream" });
  const params = { requestId: "slow-1", reason: "no longer wanted" };
  const cancel = await there.send({
    headers: session,
    body: { jsonrpc: "2.0", method: "notifications/cancelled", params },
  });
  expect(cancel.status).toBe(202);
  expect((await answer).messages).toEqual([]);
  await until(async () => slow.canceled.length > before, { what: "the upstream received the cancellation" });
});

test("ending a session aborts its calls on both replicas but not those of other sessions", async () => {
  const id = await connect(`http://${slow.host()}/mcp`);
  const session = await here.open();
  const other = await here.open();
  const giveUp = new AbortController();
  const before = slow.canceled.length;
  const call = (requestId: string) => ({
    body: { jsonrpc: "2.0", id: requestId, method: "tools/call", params: { name: `wait__${id}` } },
  });
  const answers = [
    here.send({ headers: session, ...call("a") }),
    here.send({ headers: session, ...call("b") }),
    there.send({ headers: session, ...call("c") }),
  ];
  const another = here.send({ headers: other, ...call("a"), signal: giveUp.signal }).catch(() => "hung up");
  await until(async () => slow.running() === 4, { what: "the calls have reached the upstream" });
  expect((await there.send({ method: "DELETE", headers: session })).status).toBe(204);
  for (const answer of answers) expect((await answer).status).toBe(404);
  await until(async () => slow.canceled.length === before + 3, { what: "the upstream received the cancellation" });
  expect(slow.running()).toBe(1);
  giveUp.abort();
  expect(await another).toBe("hung up");
  await here.send({ method: "DELETE", headers: other });
  await until(async () => slow.running() === 0);
});

test("a session cannot cancel a call of another session by its id", async () => {
  const id = await connect(`http://${slow.host()}/mcp`);
  const session = await here.open();
  const otherSession = await here.open();
  const giveUp = new AbortController();
  const body = { jsonrpc: "2.0", id: "slow-2", method: "tools/call", params: { name: `wait__${id}` } };
  const answer = here.send({ headers: session, body, signal: giveUp.signal }).catch(() => "hung up");
  await until(async () => slow.running() === 1);
  const notification = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "slow-2" } };
  await here.send({ headers: otherSession, body: notification });
  await there.send({ headers: otherSession, body: notification });
  await sleep(500);
  expect(slow.running()).toBe(1);
  await there.send({ headers: session, body: notification });
  expect(await answer).toMatchObject({ messages: [] });
});

test("in the stateless protocol revision a disconnect cancels the call", async () => {
  const id = await connect(`http://${slow.host()}/mcp`);
  const giveUp = new AbortController();
  const name = `wait__${id}`;
  const answer = here
    .call(
      "tools/call",
      { name, _meta: modernMeta() },
      { headers: modernHeaders("tools/call", name), signal: giveUp.signal },
    )
    .catch(() => "hung up");
  await until(async () => slow.running() === 1);
  giveUp.abort();
  expect(await answer).toBe("hung up");
  await until(async () => slow.running() === 0, { what: "the upstream's request has ended" });
});

test("a session over several connections continues after a connection and its calls are deleted", async () => {
  const [kept, deleted] = [await connect(upstream.url), await connect(`http://${slow.host()}/mcp`)];
  const session = await here.open();
  const stream = await openStream(there, { headers: session });
  const names = async (): Promise<string[]> => {
    const { result } = (await here.call("tools/list", {}, { headers: session })).last as {
      result: { tools: { name: string }[] };
    };
    return result.tools.map(({ name }) => name);
  };
  const before = (await names()).length;
  await here.call("tools/call", { name: `look_up__${kept}` }, { headers: session });
  const calls = [here, there].map((wire) =>
    wire.call("tools/call", { name: `wait__${deleted}` }, { headers: session }),
  );
  await until(async () => slow.running() === 2, { what: "calls run over both replicas" });

  await owner.call("DeleteConnection", { server_id: deleted });
  for (const call of calls) {
    expect((await call).last).toMatchObject({
      error: { message: expect.stringContaining("The connection was deleted") },
    });
  }
  await until(async () => slow.running() === 0, { what: "the upstream's requests have ended" });
  await toldTimes(stream, 1);
  for (const wire of [here, there]) {
    expect((await wire.call("tools/call", { name: `look_up__${kept}` }, { headers: session })).last).toHaveProperty(
      "result",
    );
    expect((await wire.call("tools/call", { name: `wait__${deleted}` }, { headers: session })).last).toHaveProperty(
      "error",
    );
  }
  await until(async () => (await names()).length === before - 1, { what: "its tool is gone" });
});

test("both replicas refuse a deleted connection within a second and end its bound sessions and streams", async () => {
  const id = await connect(upstream.url);
  const token = await account.token();
  const hereAlone = createWire(urlOf(0), token, `/mcp/${id}`);
  const thereAlone = createWire(urlOf(1), token, `/mcp/${id}`);
  const session = await hereAlone.open();
  const stream = await openStream(thereAlone, { headers: session });
  await owner.call("DeleteConnection", { server_id: id });
  await until(async () => (await thereAlone.call("ping", {}, { headers: session })).status === 404, {
    withinMs: 1_500,
  });
  await until(async () => (await hereAlone.call("ping", {}, { headers: session })).status === 404, { withinMs: 1_500 });
  await stream.ended;
});

test("a stream ends when its token expires", async () => {
  const other = await accounts.create();
  const { id, token } = (await replicas[0]?.command(
    ...["pat", "create", "--account", other.email, "--scope", "mcp.read"],
  )) as { id: string; token: string };
  const wire = createWire(urlOf(1), token);
  const stream = await openStream(wire, { headers: await wire.open() });
  await replicas[0]?.command("pat", "revoke", id);
  await stream.ended;
});

test("after kill -9 of a replica with open streams, clients find their session on both the other and the restarted replica", async () => {
  await connect(upstream.url);
  const session = await here.open();
  const stream = await openStream(here, { headers: session });
  await replicas[0]?.kill();
  await stream.ended;
  expect((await there.call("tools/list", {}, { headers: session })).last).toMatchObject({
    result: { tools: expect.any(Array) },
  });
  const again = await openStream(there, { headers: session });
  expect(again.status).toBe(200);
  await replicas[0]?.start();
  expect((await here.call("ping", {}, { headers: session })).last).toMatchObject({ result: {} });
});
