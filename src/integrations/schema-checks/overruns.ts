import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";

/** Remembers checks that exceeded their limits, so that they are refused immediately next time. */
export interface Overruns {
  /**
   * Whether a check is known to exceed its limits: the value is as large as one that did, or the schema never compiled.
   */
  has(tenant: string, digest: string, valueSize: number): boolean;
  /** Whether so many checks of a tenant exceeded their limits in the last minute that it must wait. */
  isExcessive(tenant: string): boolean;
  /** Records a check that exceeded its limits. A size of 0 means that the schema did not compile in time. */
  record(tenant: string, digest: string, valueSize: number): void;
}

/** How long an overrun is remembered, in milliseconds. It expires because the machine may have been slow. */
const REMEMBERED_MS = 600_000;
const TENANT_WINDOW_MS = 60_000;
/** Overruns allowed per tenant in that time. */
const MAX_PER_TENANT = 5;
const MAX_REMEMBERED = 20_000;

/** Overruns are recorded per tenant, so that one tenant's large values do not block a shared schema for others. */
export function createOverruns(): Overruns {
  const smallest = new LRUCache<string, number>({ ...atMost(MAX_REMEMBERED), ttl: REMEMBERED_MS });
  const counts = new LRUCache<string, { count: number }>({ ...atMost(MAX_REMEMBERED), ttl: TENANT_WINDOW_MS });
  const keyOf = (tenant: string, digest: string): string => `${tenant}\n${digest}`;
  return {
    has(tenant, digest, valueSize) {
      const known = smallest.get(keyOf(tenant, digest));
      return known !== undefined && valueSize >= known;
    },
    isExcessive: (tenant) => (counts.get(tenant)?.count ?? 0) >= MAX_PER_TENANT,
    record(tenant, digest, valueSize) {
      const key = keyOf(tenant, digest);
      smallest.set(key, Math.min(valueSize, smallest.get(key) ?? Infinity));
      const counted = counts.get(tenant);
      // Updated in place, because a new entry would restart the minute.
      if (counted === undefined) counts.set(tenant, { count: 1 });
      else counted.count += 1;
    },
  };
}
