import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { TestProject } from "vitest/node";
import { startEmbeddedPostgres } from "../../src/storage/embedded-postgres.ts";
import { migrate } from "../../src/storage/migrate.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The migrated template of test databases. No connection to it may stay open. */
    readonly templateUrl: string;
  }
}

/** Starts one PostgreSQL for the test run, with its own folder and port, and returns its tear-down. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), "patchbay-test-"));
  const log = pino({ level: "warn" });
  const postgres = await startEmbeddedPostgres({ dataDir, log });
  await migrate(postgres.url, log);
  project.provide("templateUrl", postgres.url);
  return async () => {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}
