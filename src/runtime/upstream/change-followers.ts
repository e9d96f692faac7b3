import type { ChangeFeed } from "../../connections/change-feed.ts";
import type { UpstreamFeatures } from "./upstream-features.ts";
import { createChangeFollower, type ChangeFollowerDeps } from "./change-follower.ts";
import type { UpstreamListings } from "./upstream-listings.ts";

/** How often listings and subscriptions are checked, in milliseconds. Most checks need no request. */
const CHECK_EVERY_MS = 5_000;
/** How long to collect further changes before a check, in milliseconds. */
const DEBOUNCE_MS = 50;

export interface ChangeFollowersDeps extends ChangeFollowerDeps {
  readonly listings: UpstreamListings;
  readonly feed: ChangeFeed;
  readonly checkEveryMs?: number;
}

export interface ChangeFollowers {
  readonly follow: UpstreamFeatures["follow"];
}

/** Checks after each change in the account, and regularly because upstreams rarely report changes. */
export function createChangeFollowers(deps: ChangeFollowersDeps): ChangeFollowers {
  const followers = new Map<string, Set<() => void>>();
  const checkSoon = (accountId: string): void => {
    for (const check of followers.get(accountId) ?? []) check();
  };
  deps.listings.onChange(({ accountId }) => checkSoon(accountId));
  deps.feed.onChange(({ accountId }) => checkSoon(accountId));
  deps.feed.onGap(() => {
    for (const accountId of followers.keys()) checkSoon(accountId);
  });

  function register(accountId: string, check: () => void): () => void {
    const own = followers.get(accountId) ?? new Set();
    followers.set(accountId, own.add(check));
    return () => {
      own.delete(check);
      if (own.size === 0 && followers.get(accountId) === own) followers.delete(accountId);
    };
  }

  return {
    follow(principal, filter, onNotification) {
      const follower = createChangeFollower(deps, principal, filter, onNotification);
      let pending: NodeJS.Timeout | undefined;
      const scheduleCheck = (): void => {
        pending ??= setTimeout(() => {
          pending = undefined;
          void follower.check();
        }, DEBOUNCE_MS).unref();
      };
      const unregister = register(principal.accountId, scheduleCheck);
      const interval = setInterval(() => void follower.check(), deps.checkEveryMs ?? CHECK_EVERY_MS).unref();
      void follower.check();
      return {
        settle: () => follower.settle(),
        stop() {
          unregister();
          clearInterval(interval);
          clearTimeout(pending);
          follower.stop();
        },
      };
    },
  };
}
