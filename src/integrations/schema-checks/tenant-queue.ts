/** A queue that serves tenants in turn. */
export interface TenantQueue<Item> {
  /** Adds an item after those of its tenant. Returns false if the queue, or the tenant's share, is full. */
  add(tenant: string, item: Item): boolean;
  /** Whether an item is available. */
  isReady(): boolean;
  /** Removes and returns the next item: of the first tenant that has no item in progress. */
  take(): { readonly tenant: string; readonly item: Item } | undefined;
  /** Reports that a tenant's item in progress has ended. */
  finish(tenant: string): void;
  /** Removes all waiting items. */
  clear(): readonly Item[];
}

/** Creates a queue in which a tenant with many items delays others by at most one item. */
export function createTenantQueue<Item>(limits: { perTenant: number; total: number }): TenantQueue<Item> {
  /** The tenants in the order of their turns. */
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
      // Items added meanwhile must not move the tenant ahead of the others.
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
