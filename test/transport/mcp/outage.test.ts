import pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DomainError } from "../../../src/domain-error.ts";
import { methodFault } from "../../../src/transport/mcp/rpc-fault.ts";
import { modernHeaders, modernMeta, type Wire } from "../../support/mcp-wire.ts";
import { createMcpWorld, type McpWorld } from "./world.ts";

let world: McpWorld;
let wire: Wire;
let locker: pg.Client;

beforeAll(async () => {
  world = await createMcpWorld();
  wire = world.wire();
  locker = new pg.Client({ connectionString: world.service.env["DATABASE_URL"] });
  await locker.connect();
}, 90_000);
afterAll(async () => {
  await locker?.end();
  await world?.close();
});

/** Makes every read of connections time out, although the database accepts connections. */
async function whileConnectionsAreLocked<Result>(work: () => Promise<Result>): Promise<Result> {
  // Removes the cached connections of the account.
  await world.owner.call("UpdateConnection", { server_id: world.id, description: String(Math.random()) });
  await locker.query("begin; lock table connection in access exclusive mode");
  try {
    return await work();
  } finally {
    await locker.query("rollback");
  }
}

const OUTAGE = { error: { code: -32000, message: "The database cannot be reached. Try again shortly." } };

test("a database outage returns HTTP 503 with a JSON-RPC error and Retry-After in every revision", async () => {
  const versions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
  const sessions = await Promise.all(versions.map((version) => wire.open(version)));
  const answers = await whileConnectionsAreLocked(() =>
    Promise.all([
      ...sessions.map((headers) => wire.call("tools/list", {}, { headers })),
      wire.call("tools/list", { _meta: modernMeta() }, { headers: modernHeaders("tools/list") }),
    ]),
  );
  for (const { status, last, headers } of answers) {
    expect([status, headers["retry-after"]]).toEqual([503, "1"]);
    expect(last).toMatchObject({ jsonrpc: "2.0", id: expect.any(Number), ...OUTAGE });
  }
  expect(answers).toHaveLength(5);
});

test("a batch returns HTTP 503 only if the outage affects all requests in it", async () => {
  const headers = await wire.open("2025-03-26");
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
  const [failed, mixed] = await whileConnectionsAreLocked(() =>
    Promise.all([wire.send({ headers, body: [list] }), wire.send({ headers, body: [list, ping] })]),
  );
  expect([failed.status, mixed.status]).toEqual([503, 200]);
  expect(mixed.messages).toHaveLength(2);
});

test("an unreachable upstream returns HTTP 200 with an error result", () => {
  const fault = methodFault(new DomainError("unavailable", "It did not answer."), pino({ level: "silent" }));
  expect([fault.httpStatus, fault.code]).toEqual([200, -32000]);
});
