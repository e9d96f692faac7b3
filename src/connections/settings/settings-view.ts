import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { AccountSettings, AccountSettingsStore } from "./account-settings.ts";

/** Changes of settings from every replica. */
export interface SettingsFeed {
  /** Calls back with the account whose settings changed; answers how to stop. */
  onChange(callback: (accountId: string) => void): () => void;
  /** Calls back whenever changes may have been missed; answers how to stop. */
  onGap(callback: () => void): () => void;
  /** Whether a change made elsewhere would have been heard within the last second. */
  isHealthy(): boolean;
}

/** The settings of accounts, from memory. */
export interface SettingsView {
  /** Without a promise when they are in memory. */
  of(accountId: string): AccountSettings | Promise<AccountSettings>;
  /** Forgets what is in memory of an account's settings: they have just been changed. */
  forget(accountId: string): void;
}

const MAX_ACCOUNTS = 10_000;

/** Settings in memory, dropped by the feed. While the feed is not healthy, every question goes to the database. */
export function createSettingsView(deps: {
  readonly store: Pick<AccountSettingsStore, "find">;
  readonly feed: SettingsFeed;
}): SettingsView {
  const { store, feed } = deps;
  const known = new LRUCache<string, AccountSettings>(atMost(MAX_ACCOUNTS));
  /** Grows with every change heard, so that what was read before a change is not kept after it. */
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
