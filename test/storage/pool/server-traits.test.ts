import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { inspectAddresses } from "../../../src/storage/pool/inspect-addresses.ts";
import { openDatabase } from "../../../src/storage/database.ts";
import { DIRECT, inspectServer } from "../../../src/storage/pool/server-traits.ts";
import { runStatement } from "../../../src/storage/stores/run-statement.ts";
import { transaction } from "../../../src/storage/transaction.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { startTransactionPooler, type TransactionPooler } from "../../support/transaction-pooler.ts";

const LOG = pino({ level: "silent" });
const ECHO = { name: "echo", text: "select $1::integer as number" };

let testDatabase: TestDatabase;
let pooler: TransactionPooler;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  pooler = await startTransactionPooler(testDatabase.url);
});

afterEach(async () => {
  await pooler.close();
  await testDatabase.close();
});

test("detects that PostgreSQL itself accepts settings, keeps prepared statements and shares no session", async () => {
  expect(await inspectServer(testDatabase.url)).toEqual(DIRECT);
});

test("detects a transaction pooler that loses prepared statements", async () => {
  expect(await inspectServer(pooler.url)).toEqual({
    takesSettings: false,
    sharesSessions: true,
    keepsStatements: false,
  });
});

test("reads, the pool and transactions work through a pooler that loses prepared statements", async () => {
  const database = await openDatabase({ url: pooler.url, poolSize: 4, server: await inspectServer(pooler.url) });
  const numbers = Array.from({ length: 40 }, (_, number) => number);
  for (const runner of [database.reads, database.pool]) {
    const answers = await Promise.all(
      numbers.map((number) => runStatement<{ number: number }>(runner, { ...ECHO, values: [number] })),
    );
    expect(answers.map(({ rows }) => rows[0]?.number)).toEqual(numbers);
  }
  const results = await Promise.all(
    [1, 2, 3].map((number) =>
      transaction(database.pool, async (client) => (await client.query({ ...ECHO, values: [number] })).rows),
    ),
  );
  expect(results).toEqual([[{ number: 1 }], [{ number: 2 }], [{ number: 3 }]]);
  await database.close();
});

test("rejects a start whose LISTEN would use a transaction pooler", async () => {
  const start = (databaseUrl: string, databaseListenUrl: string | undefined) =>
    inspectAddresses(databaseUrl, { databaseListenUrl }, LOG);
  await expect(start(pooler.url, undefined)).rejects.toThrow(/DATABASE_URL leads to a pooler.*DATABASE_LISTEN_URL/s);
  await expect(start(testDatabase.url, pooler.url)).rejects.toThrow(/DATABASE_LISTEN_URL leads to a pooler/);
  await expect(start(pooler.url, testDatabase.url)).resolves.toMatchObject({ sharesSessions: true });
});

test("a start through a pooler that loses prepared statements logs what to configure", async () => {
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => lines.push(line) });
  await inspectAddresses(pooler.url, { databaseListenUrl: testDatabase.url }, log);
  expect(lines.join("")).toMatch(/max_prepared_statements/);
  expect(lines.join("")).toMatch(/statement_timeout/);
});
