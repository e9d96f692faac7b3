import type { Constructor } from "@mikro-orm/core";
import { Migration } from "@mikro-orm/migrations";
import { MIGRATION_NAMES } from "./names.ts";

/** Every migration with its class, in execution order. */
export function loadMigrations(): Promise<{ name: string; class: Constructor<Migration> }[]> {
  return Promise.all(
    MIGRATION_NAMES.map(async (name) => {
      const module: unknown = await import(new URL(`./${name.replaceAll("_", "-")}.ts`, import.meta.url).href);
      return { name, class: migrationIn(module, name) };
    }),
  );
}

function migrationIn(module: unknown, name: string): Constructor<Migration> {
  const [migration] = Object.values(module ?? {}).filter(isMigration);
  if (migration === undefined) throw new Error(`the file of the migration ${name} exports none`);
  return migration;
}

function isMigration(value: unknown): value is Constructor<Migration> {
  return typeof value === "function" && value.prototype instanceof Migration;
}
