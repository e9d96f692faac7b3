import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";

/** Checks that ran over, so that the same ones are refused at once instead of running again. */
export interface Overruns {
  /** Whether a check is known to run over: a value as large as one that did, or a schema that never compiled. */
  has(tenant: string, digest: string, valueSize: number): boolean;
  /** Whether so many checks of a tenant ran over in the last minute that it must wait. */
  isExcessive(tenant: string): boolean;
  /** Records a check that ran over. A size of 0 says that the schema did not compile in time. */
  record(tenant: string, digest: string, valueSize: number): void;
}

/** How long one is remembered, in milliseconds. Not forever: the machine may have been slow. */
const REMEMBERED_MS = 600_000;
const TENANT_WINDOW_MS = 60_000;
/** Checks of one tenant that may run over in that time. */
const MAX_PER_TENANT = 5;
const MAX_REMEMBERED = 20_000;

/** Remembers per tenant: one that sends huge values does not lock others out of a schema that they share. */
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
      // Changed in place: a new entry would begin a new minute.
      if (counted === undefined) counts.set(tenant, { count: 1 });
      else counted.count += 1;
    },
  };
}
