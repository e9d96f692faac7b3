import { randomBytes } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";

/** A migrated, empty database for one test file. */
export interface TestDatabase {
  readonly url: string;
  /** Drops the database, even with open connections. */
  close(): Promise<void>;
}

async function runOnCluster(statement: string): Promise<void> {
  const url = new URL(inject("templateUrl"));
  url.pathname = "/postgres";
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Copies the migrated template. With `empty` the database has no tables, as on a first start. */
export async function createTestDatabase(options: { readonly empty?: boolean } = {}): Promise<TestDatabase> {
  const url = new URL(inject("templateUrl"));
  const name = `test_${randomBytes(8).toString("hex")}`;
  await runOnCluster(
    `create database ${name} template ${options.empty === true ? "template0" : url.pathname.slice(1)}`,
  );
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async close() {
      await runOnCluster(`drop database if exists ${name} with (force)`);
    },
  };
}
