import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { isJsonObject } from "../../src/json.ts";
import { requiredBy } from "../../src/storage/schema-version.ts";

/** The oldest PostgreSQL that the service supports. */
const POSTGRES_VERSION = "15";

const SQUAWK = fileURLToPath(new URL("../../node_modules/.bin/squawk", import.meta.url));

/** Rules about style, and timeouts, which the migrator sets. */
const NOT_OURS = [
  "ban-char-field",
  "identifier-too-long",
  "prefer-bigint-over-int",
  "prefer-bigint-over-smallint",
  "prefer-identity",
  "require-lock-timeout",
  "require-statement-timeout",
];

/** Rules that do not apply to a migration whose name states the earlier migration that every replica must know. */
const FOR_CONTRACT = ["ban-drop-column", "ban-drop-table", "ban-drop-not-null"];

/** Statements whose locks squawk checks, or that take no lock. Every other statement changes rows or is opaque. */
const STATEMENTS = [
  /^create (unlogged )?table /,
  /^create (unique )?index /,
  /^drop index /,
  /^alter table /,
  /^drop table /,
  /^comment on /,
  /^create (or replace )?function /,
  /^drop function /,
  /^create (or replace )?trigger /,
  /^drop trigger /,
  /^insert into backfill \(name\) values /,
];

const CONCURRENT = /^(create (unique )?index concurrently if not exists|drop index concurrently if exists) /;

/** A migration as the linter sees it. */
export interface LintedMigration {
  /** As in `MIGRATION_NAMES`. */
  readonly name: string;
  readonly isTransactional: boolean;
  readonly statements: readonly string[];
}

/** Lists why a migration is unsafe while the service runs, one sentence per fault. */
export function migrationFaults(migration: LintedMigration): readonly string[] {
  return [...migration.statements.flatMap((sql) => statementFaults(migration, sql)), ...squawkFaults(migration)];
}

function statementFaults({ isTransactional }: LintedMigration, sql: string): readonly string[] {
  const words = sql.replaceAll(/--.*$/gm, "").replaceAll(/\s+/g, " ").trim().toLowerCase();
  const start = `"${words.slice(0, 60)}"`;
  if (!isTransactional && !CONCURRENT.test(`${words} `)) {
    return [
      `${start}: outside a transaction only "create index concurrently if not exists" and ` +
        `"drop index concurrently if exists" can be repeated after an interruption.`,
    ];
  }
  if (isTransactional && /^(create|drop) (unique )?index concurrently /.test(words)) {
    return [`${start}: extend ConcurrentMigration, because this cannot run in a transaction.`];
  }
  if (!STATEMENTS.some((allowed) => allowed.test(words))) {
    return [`${start}: change rows in a backfill (src/storage/backfills), not in a migration.`];
  }
  if (/^alter table .* add (column )?[^,]* check /.test(words) && !words.endsWith(" not valid")) {
    return [`${start}: add the check as a separate constraint with "not valid" and validate it in a later migration.`];
  }
  return [];
}

function squawkFaults({ name, isTransactional, statements }: LintedMigration): readonly string[] {
  const excluded = [...NOT_OURS, ...(requiredBy(name) === undefined ? [] : FOR_CONTRACT)];
  const { stdout, stderr, error } = spawnSync(
    SQUAWK,
    [
      ...["--pg-version", POSTGRES_VERSION, "--reporter", "json", "--exclude", excluded.join(",")],
      isTransactional ? "--assume-in-transaction" : "--no-assume-in-transaction",
    ],
    { encoding: "utf8", input: statements.map((sql) => `${sql.trim().replace(/;$/, "")};\n`).join("") },
  );
  const found: unknown = error === undefined ? parse(stdout) : undefined;
  if (!Array.isArray(found)) throw new Error(`squawk did not run: ${error?.message ?? stderr}`);
  return found.filter(isJsonObject).map(({ rule_name, message, help }) => {
    return `${String(rule_name)}: ${String(message)}${typeof help === "string" ? ` ${help}` : ""}`;
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
