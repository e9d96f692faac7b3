/** Work of many tenants, taken in turn. */
export interface TenantQueue<Item> {
  /** Adds an item behind those of its tenant. False when the queue, or the tenant's share of it, is full. */
  add(tenant: string, item: Item): boolean;
  /** Whether there is something to take. */
  isReady(): boolean;
  /** Takes the next item, of the first tenant that has none in progress. */
  take(): { readonly tenant: string; readonly item: Item } | undefined;
  /** Says that what a tenant had in progress has ended. */
  finish(tenant: string): void;
  /** Removes everything that waits. */
  clear(): readonly Item[];
}

/** A queue in which one tenant with much work delays the others by one item at most. */
export function createTenantQueue<Item>(limits: { perTenant: number; total: number }): TenantQueue<Item> {
  /** In the order of their turns. */
  const waiting = new Map<string, Item[]>();
  const inProgress = new Set<string>();
  let total = 0;
  return {
    add(tenant, item) {
      const items = waiting.get(tenant) ?? [];
      if (total >= limits.total || items.length >= limits.perTenant) return false;
      items.push(item);
      waiting.set(tenant, items);
      total += 1;
      return true;
    },
    isReady: () => [...waiting.keys()].some((tenant) => !inProgress.has(tenant)),
    take() {
      for (const [tenant, items] of waiting) {
        if (inProgress.has(tenant)) continue;
        const item = items.shift();
        waiting.delete(tenant);
        if (items.length > 0) waiting.set(tenant, items);
        if (item === undefined) continue;
        total -= 1;
        inProgress.add(tenant);
        return { tenant, item };
      }
      return undefined;
    },
    finish(tenant) {
      inProgress.delete(tenant);
      const items = waiting.get(tenant);
      // Items added meanwhile must not give the tenant its next turn before the others.
      if (items !== undefined && waiting.delete(tenant)) waiting.set(tenant, items);
    },
    clear() {
      const items = [...waiting.values()].flat();
      waiting.clear();
      total = 0;
      return items;
    },
  };
}
