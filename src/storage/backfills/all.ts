import type { Backfill } from "./backfill.ts";

/** Every backfill that a migration inserts. It stays here as long as its migration. */
export const BACKFILLS: readonly Backfill[] = [];
