import { afterAll, beforeAll, expect, test } from "vitest";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { createPurge } from "../../src/storage/stores/connections/purge.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 2 });
});

afterAll(async () => {
  await database.close();
  await testDatabase.close();
});

test("a table that cannot be purged does not stop the purge of the others", async () => {
  const { pool } = database;
  await pool.query("insert into login_failure (key, points, expire) values ('key', 1, 0)");
  await pool.query("drop table call_contents");
  await expect(createPurge(pool).expired()).rejects.toThrow("1 tables could not be purged");
  expect((await pool.query("select from login_failure")).rowCount).toBe(0);
});
