import { randomBytes } from "node:crypto";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDatabase, type Database } from "../../src/storage/database.ts";
import { openInstallation } from "../../src/storage/installation.ts";
import { loadOrCreateMasterKeys } from "../../src/storage/master-keys.ts";
import { createSealer } from "../../src/storage/sealing.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const first = { version: 1, key: randomBytes(32) };
const second = { version: 2, key: randomBytes(32) };

let testDatabase: TestDatabase;
let database: Database;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 4 });
});

afterEach(async () => {
  await database.close();
  await testDatabase.close();
});

test("replicas that start concurrently on an empty database share one pepper of 32 bytes", async () => {
  const opened = await Promise.all([1, 2, 3].map(() => openInstallation(database, createSealer([first]))));
  expect(new Set(opened.map(({ pepper }) => pepper.toString("hex"))).size).toBe(1);
  expect(opened[0]?.pepper).toHaveLength(32);
});

test("rejects a replica with other master keys with one line", async () => {
  await openInstallation(database, createSealer([first]));
  await expect(openInstallation(database, createSealer([{ version: 1, key: randomBytes(32) }]))).rejects.toThrow(
    /^master key version 1 is not the one that encrypted this database.*$/,
  );
  await expect(openInstallation(database, createSealer([second]))).rejects.toThrow(
    /^this database is encrypted with master key version 1, which .* does not contain: without it 1 secret would be lost$/,
  );
});

test("a newer master key is added to the old one, and a replica without the newer key is rejected from then on", async () => {
  const { pepper } = await openInstallation(database, createSealer([first]));
  const both = createSealer([second, first]);
  expect((await openInstallation(database, both)).pepper).toEqual(pepper);
  expect((await openInstallation(database, both)).pepper).toEqual(pepper);
  await expect(openInstallation(database, createSealer([first]))).rejects.toThrow(/master key version 2/);
});

test("the pepper is stored only encrypted", async () => {
  const { pepper } = await openInstallation(database, createSealer([first]));
  const { rows } = await database.pool.query<{ sealed_pepper: Buffer }>("select sealed_pepper from installation");
  const stored = rows[0]?.sealed_pepper ?? Buffer.alloc(0);
  expect(stored.includes(pepper)).toBe(false);
  expect(stored.includes(pepper.toString("base64"))).toBe(false);
});

test("generated master keys are stable, readable only by their owner, and created once by concurrent starts", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "patchbay-keys-"));
  const [one, two] = await Promise.all([loadOrCreateMasterKeys(dataDir), loadOrCreateMasterKeys(dataDir)]);
  expect(one).toEqual(two);
  expect(await loadOrCreateMasterKeys(dataDir)).toEqual(one);
  expect((await stat(join(dataDir, "keys"))).mode & 0o777).toBe(0o700);
  expect((await stat(join(dataDir, "keys/master-keys"))).mode & 0o777).toBe(0o600);
  await rm(dataDir, { recursive: true });
});
