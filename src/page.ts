import { invalid } from "./domain-error.ts";

/** Entries of a page when the caller names no limit, and the most a list returns without paging. */
export const DEFAULT_PAGE = 100;
/** The largest page. */
export const MAX_PAGE = 500;

/** The part of a list that the caller asks for. */
export interface PageQuery {
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

/** Checks `limit` (1–500) and `offset` (≥ 0); throws `invalid` naming the one that is out of range. */
export function checkPage(query: PageQuery): void {
  if (query.limit !== undefined && (query.limit < 1 || query.limit > MAX_PAGE)) {
    throw invalid("limit", `limit must be from 1 to ${MAX_PAGE}.`);
  }
  if (query.offset !== undefined && query.offset < 0) throw invalid("offset", "offset must be 0 or more.");
}
