import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { TestProject } from "vitest/node";
import { openDatabase } from "../../src/storage/database.ts";
import { startEmbeddedPostgres } from "../../src/storage/embedded-postgres.ts";
import { migrate } from "../../src/storage/migrate.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A migrated database that test databases are copied from. Nothing may stay connected to it. */
    readonly templateUrl: string;
  }
}

/** One PostgreSQL for the whole test run, in a folder and on a port of its own; returns the tear-down. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), "patchbay-test-"));
  const postgres = await startEmbeddedPostgres({ dataDir, log: pino({ level: "warn" }) });
  const database = await openDatabase({ url: postgres.url, poolSize: 2 });
  await migrate(database.orm);
  await database.close();
  project.provide("templateUrl", postgres.url);
  return async () => {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}
