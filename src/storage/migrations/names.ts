import { readdirSync } from "node:fs";

/**
 * The names of all migrations in execution order, equal to their file names. A released name never changes, and names
 * are only appended. Separate from the classes, so that a start with nothing to migrate loads neither them nor the
 * migrator.
 */
export const MIGRATION_NAMES: readonly string[] = readdirSync(import.meta.dirname)
  .filter((file) => /^\d{4}-.+\.ts$/.test(file))
  .sort()
  .map((file) => file.slice(0, -".ts".length).replaceAll("-", "_"));
