import { readdirSync } from "node:fs";

/**
 * Every migration in the order of running, each named as its file. A name, once released, never changes; nothing is taken out
 * or put between. Names alone, so that a start that finds them all applied loads neither the migrations nor what runs them.
 */
export const MIGRATION_NAMES: readonly string[] = readdirSync(import.meta.dirname)
  .filter((file) => /^\d{4}-.+\.ts$/.test(file))
  .sort()
  .map((file) => file.slice(0, -".ts".length).replaceAll("-", "_"));
