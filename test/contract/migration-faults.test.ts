import { describe, expect, test } from "vitest";
import { type LintedMigration, migrationFaults } from "./migration-faults.ts";

function lint(statements: readonly string[], changed: Partial<LintedMigration> = {}): string {
  return migrationFaults({ name: "0040_add_it", isTransactional: true, statements, ...changed }).join("\n");
}

const CONTRACT = { name: "0041_contract_0040_drop_it" };
const CONCURRENT = { isTransactional: false };

describe("the linter of migrations accepts", () => {
  test.each<[string, string[], Partial<LintedMigration>]>([
    [
      "a new table with its indexes and foreign keys",
      [
        "create table team (account_id text references account (id), id text, check (id <> ''), primary key (account_id, id))",
        "create index team_id on team (id)",
      ],
      {},
    ],
    ["a column with a constant default", ["alter table account add column kind text not null default 'person'"], {}],
    ["a check that is validated later", ["alter table account add constraint c check (email <> '') not valid"], {}],
    ["the start of a backfill", ["insert into backfill (name) values ('fill_kind')"], {}],
    [
      "an index that is built concurrently, if it can be repeated",
      ["create index concurrently if not exists account_kind on account (kind)"],
      CONCURRENT,
    ],
    ["a drop whose name states which migration replicas need", ["alter table account drop column kind"], CONTRACT],
    [
      "a fault that the migration names as intended",
      ["-- squawk-ignore require-concurrent-index-creation\ncreate index signing_key_use on signing_key (use)"],
      {},
    ],
  ])("%s", (_, statements, changed) => {
    expect(lint(statements, changed)).toBe("");
  });
});

describe("the linter of migrations rejects", () => {
  test.each<[string, string, RegExp, Partial<LintedMigration>]>([
    ["an index that blocks writes", "create index a on account (kind)", /require-concurrent-index-creation/, {}],
    ["a concurrent index in a transaction", "create index concurrently a on account (kind)", /ConcurrentMigration/, {}],
    [
      "a concurrent index that cannot be repeated",
      "create index concurrently a on account (b)",
      /repeated/,
      CONCURRENT,
    ],
    ["another statement outside a transaction", "alter table account add column b text", /repeated/, CONCURRENT],
    ["a required column without a default", "alter table account add column b text not null", /adding-required/, {}],
    ["a rewrite of the table", "alter table account add column b timestamptz default clock_timestamp()", /rewrite/, {}],
    ["a change of a type", "alter table account alter column id type varchar(9)", /changing-column-type/, {}],
    ["not null without a checked constraint", "alter table account alter column b set not null", /not-null/, {}],
    ["a foreign key that scans", "alter table account add foreign key (a) references b (a)", /foreign-key/, {}],
    ["a check that scans", "alter table account add constraint c check (a <> '')", /not-valid/, {}],
    ["a column with a check, which scans", "alter table account add column b text check (b <> '')", /"not valid"/, {}],
    ["a unique constraint that builds its index", "alter table account add unique (a)", /unique-constraint/, {}],
    ["a dropped column that older replicas use", "alter table account drop column email", /ban-drop-column/, {}],
    ["a dropped table that older replicas use", "drop table account", /ban-drop-table/, {}],
    ["a renamed column, also later", "alter table account rename column a to b", /renaming-column/, CONTRACT],
    ["a renamed table, also later", "alter table account rename to person", /renaming-table/, CONTRACT],
    ["an update of all rows", "update account set kind = 'person'", /backfill/, {}],
    ["a deletion of rows, also later", "delete from account", /backfill/, CONTRACT],
    ["rows copied from another table", "insert into team select id from account", /backfill/, {}],
    ["a block that hides its statements", "do $$ begin update account set id = id; end $$", /backfill/, {}],
    ["a lock", "lock table account", /backfill/, {}],
    ["SQL with an error", "create tabel account (id text)", /syntax-error/, {}],
  ])("%s", (_, sql, fault, changed) => {
    expect(lint([sql], changed)).toMatch(fault);
  });
});
