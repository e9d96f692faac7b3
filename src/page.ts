import { invalid } from "./domain-error.ts";

/** The default page size, and the most entries that a list returns without paging. */
export const DEFAULT_PAGE = 100;
export const MAX_PAGE = 500;

export interface PageQuery {
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

/** Checks `limit` (1–500) and `offset` (≥ 0). Throws `invalid` naming the one out of range. */
export function checkPage(query: PageQuery): void {
  if (query.limit !== undefined && (query.limit < 1 || query.limit > MAX_PAGE)) {
    throw invalid("limit", `limit must be from 1 to ${MAX_PAGE}.`);
  }
  if (query.offset !== undefined && query.offset < 0) throw invalid("offset", "offset must be 0 or more.");
}
