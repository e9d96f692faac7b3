import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { AccountSettings, AccountSettingsStore } from "./account-settings.ts";

/** Notifies of settings changes on all replicas. */
export interface SettingsFeed {
  /** Calls back with the id of the account. Returns a function that unsubscribes. */
  onChange(callback: (accountId: string) => void): () => void;
  /** Calls back when changes may have been missed. Returns a function that unsubscribes. */
  onGap(callback: () => void): () => void;
  /** Whether changes on other replicas arrive within a second. */
  isHealthy(): boolean;
}

export interface SettingsView {
  /** Returns no promise for cached settings. */
  of(accountId: string): AccountSettings | Promise<AccountSettings>;
  /** Drops the account's cached settings after a change. */
  forget(accountId: string): void;
}

const MAX_ACCOUNTS = 10_000;

/** Caches settings until the feed reports a change. While the feed is unhealthy, every read goes to the database. */
export function createSettingsView(deps: {
  readonly store: Pick<AccountSettingsStore, "find">;
  readonly feed: SettingsFeed;
}): SettingsView {
  const { store, feed } = deps;
  const known = new LRUCache<string, AccountSettings>(atMost(MAX_ACCOUNTS));
  /** Incremented by each change, so that a read that started before a change is not cached after it. */
  let changeCount = 0;

  function forget(accountId: string): void {
    changeCount += 1;
    known.delete(accountId);
  }

  feed.onChange(forget);
  feed.onGap(() => {
    changeCount += 1;
    known.clear();
  });

  async function load(accountId: string): Promise<AccountSettings> {
    const heardBefore = changeCount;
    const settings = await store.find(accountId);
    if (changeCount === heardBefore && feed.isHealthy()) known.set(accountId, settings);
    return settings;
  }

  return {
    forget,
    of: (accountId) => (feed.isHealthy() ? known.get(accountId) : undefined) ?? load(accountId),
  };
}
