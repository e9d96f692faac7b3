import { afterEach, beforeEach, expect, test } from "vitest";
import { pino } from "pino";
import { createDeliverDue } from "../../src/webhooks/deliver-due.ts";
import { createWebhookWorld, type WebhookWorld } from "./world.ts";

const URL_OF_RECEIVER = "https://hooks.example.com/";

let world: WebhookWorld;
let account: string;

beforeEach(async () => {
  world = await createWebhookWorld();
  account = await world.createAccount();
});

afterEach(() => world.close());

test("claims a new event before the backlogs of eight other accounts", async () => {
  for (let other = 0; other < 8; other += 1) {
    const busy = await world.createAccount();
    for (let webhook = 0; webhook < 4; webhook += 1) await world.createWebhook(busy, URL_OF_RECEIVER);
    await world.emit(busy, 1);
  }
  await world.database.pool.query("update webhook_delivery set next_attempt_at = now() - interval '1 hour'");
  const [released] = await world.queue.claim(32, []);
  if (released === undefined) throw new Error("nothing was claimed");
  await world.createWebhook(account, URL_OF_RECEIVER);
  await world.emit(account, 1);
  await world.queue.release(released);
  expect(await world.queue.claim(1, [])).toMatchObject([{ accountId: account }]);
});

test("the last delivery that is given up ends the series of failures", async () => {
  const { id } = await world.createWebhook(account, URL_OF_RECEIVER);
  await world.emit(account, 1);
  await world.database.pool.query("update webhook set failures = 3, failing_since = now() - interval '1 day'");
  const [claimed] = await world.queue.claim(1, []);
  const delivery = claimed && (await world.queue.next(claimed));
  if (delivery === undefined) throw new Error("nothing is due");
  const result = { responseStatus: 500, error: "The receiver answered 500." };
  await world.queue.record(delivery, result, { kind: "give_up", pauseSeconds: 5 });
  expect((await world.webhook(account, id)).failingSince).toBeUndefined();
});

test("a run whose result cannot be stored keeps its claim until it expires", async () => {
  await world.createWebhook(account, URL_OF_RECEIVER);
  await world.emit(account, 1);
  const [claimed] = await world.queue.claim(1, []);
  if (claimed === undefined) throw new Error("nothing was claimed");
  const deliverDue = createDeliverDue({
    queue: { ...world.queue, record: () => Promise.reject(new Error("the database is broken")) },
    send: () => Promise.resolve({ responseStatus: 204, error: undefined }),
    log: pino({ level: "silent" }),
  });
  await expect(deliverDue(claimed, new AbortController().signal)).rejects.toThrow("the database is broken");
  const { rows } = await world.database.pool.query("select from webhook where claimed_until is not null");
  expect(rows).toHaveLength(1);
});

test("waiting deliveries do not count towards the finished ones that are kept", async () => {
  const { id: webhookId } = await world.createWebhook(account, URL_OF_RECEIVER);
  await world.database.pool.query(
    `insert into webhook_delivery (account_id, id, webhook_id, event_type, subject, payload, status)
     select $1, 'delivery_' || n, $2, 'connection.created', 'connection/1', '{}',
       case when n <= 10 then 'delivered' else 'pending' end from generate_series(1, 1100) as n`,
    [account, webhookId],
  );
  await world.queue.release({ accountId: account, webhookId });
  expect((await world.deliveries.list(account, { webhookId, status: "delivered" }, 1, 0)).totalCount).toBe(10);
});
