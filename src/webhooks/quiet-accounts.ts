import { LRUCache } from "lru-cache";
import { atMost } from "../at-most.ts";

/** Notifies of created, changed and deleted webhooks on all replicas. */
export interface WebhookFeed {
  /** Calls back with the id of the account. */
  onChange(callback: (accountId: string) => void): () => void;
  /** Calls back when changes may have been missed. */
  onGap(callback: () => void): () => void;
  /** Whether changes on other replicas arrive within a second. */
  isHealthy(): boolean;
}

/** Accounts without an enabled webhook, whose changes then cost nothing. */
export interface QuietAccounts {
  /** Whether the account is known to have no enabled webhook. */
  has(accountId: string): boolean;
  /** Forgets an account whose webhooks changed. */
  forget(accountId: string): void;
  /** Call before reading the account's webhooks. The result remembers an account without one, unless one changed since. */
  observe(): (accountId: string) => void;
}

const MAX_ACCOUNTS = 100_000;

/** Remembers quiet accounts until the feed reports a change. While the feed is unhealthy, no account counts as quiet. */
export function createQuietAccounts(feed: WebhookFeed): QuietAccounts {
  const quiet = new LRUCache<string, true>(atMost(MAX_ACCOUNTS));
  /** Incremented by each change, so that a read that started before a change is not remembered after it. */
  let changeCount = 0;

  function forget(accountId: string): void {
    changeCount += 1;
    quiet.delete(accountId);
  }

  feed.onChange(forget);
  feed.onGap(() => {
    changeCount += 1;
    quiet.clear();
  });
  return {
    forget,
    has: (accountId) => feed.isHealthy() && quiet.has(accountId),
    observe: () => {
      const before = changeCount;
      return (accountId) => {
        if (changeCount === before && feed.isHealthy()) quiet.set(accountId, true);
      };
    },
  };
}
