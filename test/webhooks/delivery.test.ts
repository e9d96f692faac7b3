import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { OPERATOR } from "../../src/identity/actor.ts";
import { until } from "../support/until.ts";
import { isSignedWith, type Received, type Receiver, startReceiver } from "./receiver.ts";
import { createWebhookWorld, type WebhookWorld } from "./world.ts";

let world: WebhookWorld;
let receiver: Receiver;
let account: string;

beforeEach(async () => {
  [world, receiver] = await Promise.all([createWebhookWorld(), startReceiver()]);
  account = await world.createAccount();
});

afterEach(async () => {
  await world.close();
  await receiver.close();
});

const status = (code: number) => (response: ServerResponse) => {
  response.writeHead(code).end();
};
const idsOf = (received: readonly Received[]) => received.map(({ data }) => data["mcp_server_id"]);

test("sends an event that the library of Standard Webhooks verifies", async () => {
  const { id, secret } = await world.createWebhook(account, receiver.url);
  await world.emit(account, 7);
  world.startReplica({ allow: [receiver.host] });
  const delivery = await world.delivery(account, (each) => each.status === "delivered");
  expect(delivery).toMatchObject({ webhookId: id, attempts: 1, responseStatus: 204, error: undefined });
  const [request] = receiver.received;
  if (request === undefined) throw new Error("nothing was received");
  expect(request).toMatchObject({ id: delivery.id, type: "connection.verified", path: "/hooks" });
  expect(request.headers["content-type"]).toBe("application/json");
  expect(request.body).toBe(delivery.payload);
  expect(JSON.parse(request.body)).toMatchObject({ timestamp: delivery.createdAt.toISOString() });
  expect(isSignedWith(secret, request)).toBe(true);
  expect(isSignedWith(secret, { ...request, body: request.body.replace("7", "8") })).toBe(false);
});

test("retries a failed delivery before later events of the same connection, and not before those of others", async () => {
  await world.createWebhook(account, receiver.url);
  receiver.answer = (response, { data }) => status(data["mcp_server_id"] === 1 ? 500 : 204)(response);
  await world.emit(account, 1, "connection.created");
  await world.emit(account, 2, "connection.created");
  await world.emit(account, 1, "connection.verified");
  world.startReplica({ allow: [receiver.host] });
  await world.delivery(account, (each) => each.attempts === 1);
  await world.database.pool.query("update webhook set paused_until = null, due_at = now()");
  await until(async () => receiver.received.length === 2, { what: "the event of the other connection" });
  expect(idsOf(receiver.received)).toEqual([1, 2]);

  receiver.answer = status(204);
  await world.endPauses();
  await until(async () => receiver.received.length === 4, { what: "the rest" });
  expect(receiver.received.slice(2).map(({ type }) => type)).toEqual(["connection.created", "connection.verified"]);
  expect(receiver.received[2]?.id).toBe(receiver.received[0]?.id);
});

test("sends the events of a webhook in their order", async () => {
  await world.createWebhook(account, receiver.url);
  for (let id = 1; id <= 20; id += 1) await world.emit(account, id);
  world.startReplica({ allow: [receiver.host] });
  await until(async () => receiver.received.length === 20, { what: "20 events" });
  expect(idsOf(receiver.received)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
});

test("makes one attempt per pause, however many deliveries wait", async () => {
  const { id } = await world.createWebhook(account, receiver.url);
  receiver.answer = status(500);
  for (let connection = 1; connection <= 5; connection += 1) await world.emit(account, connection);
  world.startReplica({ allow: [receiver.host] });
  await world.delivery(account, (each) => each.attempts === 1);
  await world.emit(account, 6);
  await until(
    async () => {
      const { rows } = await world.database.pool.query("select from webhook where claimed_until is null");
      return rows.length === 1;
    },
    { what: "the end of the run" },
  );
  expect(receiver.received).toHaveLength(1);
  const { rows } = await world.database.pool.query<{ paused: boolean }>(
    "select due_at >= paused_until and paused_until > now() as paused from webhook",
  );
  expect(rows).toEqual([{ paused: true }]);
  expect((await world.webhook(account, id)).failingSince).toBeInstanceOf(Date);
});

test("disables a webhook that failed for three days, with its reason, its deliveries and an audit event", async () => {
  const { id } = await world.createWebhook(account, receiver.url);
  receiver.answer = status(503);
  await world.emit(account, 1);
  await world.emit(account, 2);
  let now = Date.now();
  world.startReplica({ allow: [receiver.host], now: () => now });
  await world.delivery(account, (each) => each.attempts === 1);
  expect((await world.webhook(account, id)).enabled).toBe(true);

  now += 3 * 86_400_000 + 60_000;
  await world.endPauses();
  await world.delivery(account, (each) => each.status === "failed");
  expect(await world.webhook(account, id)).toMatchObject({
    enabled: false,
    disabledReason: "All attempts failed for 3 days. The last error: The receiver answered 503.",
  });
  const { deliveries } = await world.deliveries.list(account, { webhookId: id, status: "failed" }, 10, 0);
  expect(deliveries).toHaveLength(2);
  const { rows } = await world.database.pool.query(
    "select action, actor_kind, object_id from audit_event where account_id = $1 order by id desc limit 1",
    [account],
  );
  expect(rows).toEqual([{ action: "webhook.disable", actor_kind: "service", object_id: id }]);

  await world.emit(account, 3);
  expect((await world.deliveries.list(account, { webhookId: id, status: undefined }, 10, 0)).totalCount).toBe(2);
});

test("gives up a delivery after three days without disabling a webhook that accepts others", async () => {
  const { id } = await world.createWebhook(account, receiver.url);
  receiver.answer = status(400);
  await world.emit(account, 1);
  await world.database.pool.query("update webhook_delivery set queued_at = now() - interval '3 days'");
  world.startReplica({ allow: [receiver.host] });
  const delivery = await world.delivery(account, (each) => each.status === "failed");
  expect(delivery).toMatchObject({ attempts: 1, error: "The receiver answered 400." });
  expect((await world.webhook(account, id)).enabled).toBe(true);
});

test("disables a webhook whose receiver answers 410", async () => {
  const { id } = await world.createWebhook(account, receiver.url);
  receiver.answer = status(410);
  await world.emit(account, 1);
  world.startReplica({ allow: [receiver.host] });
  await world.delivery(account, (each) => each.status === "failed");
  expect((await world.webhook(account, id)).disabledReason).toBe("The receiver answered 410 Gone.");
});

test("a receiver that never answers costs one attempt of limited time", async () => {
  await world.createWebhook(account, receiver.url);
  receiver.answer = () => {};
  await world.emit(account, 1);
  world.startReplica({ allow: [receiver.host], timeoutMs: 300 });
  const delivery = await world.delivery(account, (each) => each.attempts === 1);
  expect(delivery.error).toBe("The receiver did not answer within 0.3 seconds.");
  expect(delivery.responseStatus).toBeUndefined();
});

test("a delivery fails if the receiver hangs during its response", async () => {
  await world.createWebhook(account, receiver.url);
  receiver.answer = (response) => response.writeHead(200).write("slow");
  await world.emit(account, 1);
  world.startReplica({ allow: [receiver.host], timeoutMs: 300 });
  const delivery = await world.delivery(account, (each) => each.attempts === 1);
  expect(delivery).toMatchObject({ status: "pending", error: "The receiver did not answer within 0.3 seconds." });
});

test("an endless answer is cut after 64 KiB", async () => {
  await world.createWebhook(account, receiver.url);
  let sent = 0;
  let isCut = false;
  receiver.answer = (response) => {
    const chunk = Buffer.alloc(16_384, "x");
    const more = (): void => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length;
    };
    response.on("drain", more).on("close", () => {
      isCut = true;
    });
    response.writeHead(200);
    more();
  };
  await world.emit(account, 1);
  world.startReplica({ allow: [receiver.host] });
  await world.delivery(account, (each) => each.status === "delivered");
  await until(async () => isCut, { what: "the end of the connection" });
  // The sockets of both sides may buffer some data, but no more may be sent.
  expect(sent).toBeLessThan(16 * 1024 * 1024);
});

test("does not follow redirects", async () => {
  const target = await startReceiver();
  try {
    await world.createWebhook(account, receiver.url);
    receiver.answer = (response) => response.writeHead(307, { location: target.url }).end();
    await world.emit(account, 1);
    world.startReplica({ allow: [receiver.host, target.host] });
    const delivery = await world.delivery(account, (each) => each.attempts === 1);
    expect(delivery).toMatchObject({
      responseStatus: 307,
      error: "The receiver answered 307; redirects are not followed.",
    });
    expect(target.received).toEqual([]);
  } finally {
    await target.close();
  }
});

test("refuses a name that leads to a private address after it was checked", async () => {
  await world.createWebhook(account, "https://hooks.example.com/");
  await world.emit(account, 1);
  world.startReplica({
    allow: [],
    lookup: (_name, options, callback) => {
      if (options.all === true) callback(null, [{ address: "10.0.0.1", family: 4 }]);
      else callback(null, "10.0.0.1", 4);
    },
  });
  const delivery = await world.delivery(account, (each) => each.attempts === 1);
  expect(delivery.error).toBe(
    "Calls to hooks.example.com:443 are refused because its name leads to a private address. If it is meant, the operator can add hooks.example.com:443 to OUTBOUND_ALLOW.",
  );
});

test("a receiver that cannot be reached fails without naming its address", async () => {
  const gone = await startReceiver();
  await gone.close();
  await world.createWebhook(account, gone.url);
  await world.emit(account, 1);
  world.startReplica({ allow: [gone.host] });
  const delivery = await world.delivery(account, (each) => each.attempts === 1);
  expect(delivery.error).toBe("The receiver could not be reached.");
});

test("two replicas deliver each event once", async () => {
  await Promise.all([1, 2, 3].map(() => world.createWebhook(account, receiver.url)));
  for (let id = 1; id <= 10; id += 1) await world.emit(account, id);
  world.startReplica({ allow: [receiver.host] });
  world.startReplica({ allow: [receiver.host] });
  for (let id = 11; id <= 20; id += 1) await world.emit(account, id);
  await until(
    async () => {
      const { rows } = await world.database.pool.query("select from webhook_delivery where status <> 'delivered'");
      return rows.length === 0;
    },
    { what: "60 deliveries" },
  );
  const ids = receiver.received.map(({ id }) => id);
  expect(ids).toHaveLength(60);
  expect(new Set(ids).size).toBe(60);
});

test("another replica takes over a claim that is not renewed", async () => {
  await world.createWebhook(account, receiver.url);
  await world.emit(account, 1);
  expect(await world.queue.claim(1, [])).toHaveLength(1);
  expect(await world.queue.claim(1, [])).toEqual([]);
  await world.database.pool.query("update webhook set claimed_until = now() - interval '1 second'");
  world.startReplica({ allow: [receiver.host] });
  await world.delivery(account, (each) => each.status === "delivered");
});

test("an account with hanging receivers leaves slots to others", async () => {
  receiver.answer = (response, { path }) => {
    if (path !== "/hanging") status(204)(response);
  };
  for (let webhook = 0; webhook < 20; webhook += 1)
    await world.createWebhook(account, receiver.url.replace("/hooks", "/hanging"));
  await world.emit(account, 1);
  const other = await world.createAccount();
  await world.createWebhook(other, receiver.url);
  world.startReplica({ allow: [receiver.host] });
  await until(async () => receiver.received.length === 4, { what: "as many requests as an account may have" });
  await world.emit(other, 2);
  await world.delivery(other, (each) => each.status === "delivered");
  expect(receiver.received.filter(({ path }) => path === "/hanging")).toHaveLength(4);
});

test("during a rotation deliveries are signed with both secrets, afterwards with the new one", async () => {
  const { id, secret: first } = await world.createWebhook(account, receiver.url);
  const second = `whsec_${Buffer.alloc(32, 2).toString("base64")}`;
  const third = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;
  world.startReplica({ allow: [receiver.host] });
  const signers = async (): Promise<readonly boolean[]> => {
    const before = receiver.received.length;
    await world.emit(account, before + 1);
    const request = await until(async () => receiver.received[before], { what: "the event" });
    return [first, second, third].map((secret) => isSignedWith(secret, request));
  };
  expect(await signers()).toEqual([true, false, false]);
  const rotated = await world.webhooks.rotateSecret(account, id, second, 3_600, OPERATOR);
  expect(rotated?.previousSecretUntil).toBeInstanceOf(Date);
  expect(await signers()).toEqual([true, true, false]);
  await world.database.pool.query("update webhook set previous_secret_until = now()");
  expect(await signers()).toEqual([false, true, false]);
  await world.webhooks.rotateSecret(account, id, third, 0, OPERATOR);
  expect(await signers()).toEqual([false, false, true]);
});

test("resends a delivery with the same id, at once and in spite of the pause", async () => {
  const { id } = await world.createWebhook(account, receiver.url);
  receiver.answer = status(500);
  await world.emit(account, 1);
  world.startReplica({ allow: [receiver.host] });
  const failed = await world.delivery(account, (each) => each.attempts === 1);
  receiver.answer = status(200);
  expect(await world.deliveries.resend(account, failed.id, OPERATOR)).toMatchObject({ status: "pending", attempts: 0 });
  const delivered = await world.delivery(account, (each) => each.status === "delivered");
  expect(delivered).toMatchObject({ id: failed.id, attempts: 1, error: undefined });
  expect((await world.webhook(account, id)).failingSince).toBeUndefined();

  await world.deliveries.resend(account, failed.id, OPERATOR);
  await until(async () => receiver.received.length === 3, { what: "the resent event" });
  expect(new Set(receiver.received.map((each) => each.id))).toEqual(new Set([failed.id]));
});

test("a webhook with too many waiting deliveries is disabled", async () => {
  const { id } = await world.createWebhook(account, receiver.url);
  await world.database.pool.query(
    `insert into webhook_delivery (account_id, id, webhook_id, event_type, subject, payload)
     select $1, 'delivery_' || n, $2, 'connection.created', 'connection/' || n, '{}' from generate_series(1, 5000) as n`,
    [account, id],
  );
  await world.emit(account, 1);
  expect(await world.webhook(account, id)).toMatchObject({
    enabled: false,
    disabledReason: "5000 deliveries are waiting, more than a webhook can have.",
  });
  expect((await world.deliveries.list(account, { webhookId: id, status: "pending" }, 1, 0)).totalCount).toBe(0);
});

test("keeps the last 1,000 finished deliveries of a webhook", async () => {
  const { id } = await world.createWebhook(account, receiver.url);
  await world.database.pool.query(
    `insert into webhook_delivery (account_id, id, webhook_id, event_type, subject, payload, status)
     select $1, 'delivery_' || n, $2, 'connection.created', 'connection/1', '{}', 'delivered' from generate_series(1, 1100) as n`,
    [account, id],
  );
  await world.emit(account, 1);
  world.startReplica({ allow: [receiver.host] });
  await until(
    async () => (await world.deliveries.list(account, { webhookId: id, status: undefined }, 1, 0)).totalCount === 1_000,
    { what: "1,000 deliveries" },
  );
  const [newest] = (await world.deliveries.list(account, { webhookId: id, status: undefined }, 1, 0)).deliveries;
  expect(newest?.id).toBe(receiver.received[0]?.id);
});
