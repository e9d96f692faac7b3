import type { ChangeFeed } from "../../connections/change-feed.ts";
import type { UpstreamFeatures } from "./upstream-features.ts";
import { createChangeFollower, type ChangeFollowerDeps } from "./change-follower.ts";
import type { UpstreamListings } from "./upstream-listings.ts";

/** How often the offers in view, and what a follower wants to hear, are looked at: in memory alone, mostly, in milliseconds. */
const CHECK_EVERY_MS = 5_000;
/** Changes come in groups: how long to wait for the rest of one, in milliseconds. */
const DEBOUNCE_MS = 50;

/** What following needs. */
export interface ChangeFollowersDeps extends ChangeFollowerDeps {
  readonly listings: UpstreamListings;
  readonly feed: ChangeFeed;
  readonly checkEveryMs?: number;
}

/** Everybody who follows upstreams. */
export interface ChangeFollowers {
  readonly follow: UpstreamFeatures["follow"];
  /** Has the followers of an account look soon. */
  checkSoon(accountId: string): void;
}

/** Followers by account: they look when something changes there, and now and then because upstreams rarely say so. */
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
    checkSoon,

    follow(principal, interest, onNotification) {
      const follower = createChangeFollower(deps, principal, interest, onNotification);
      let pending: NodeJS.Timeout | undefined;
      const scheduleCheck = (): void => {
        pending ??= setTimeout(() => {
          pending = undefined;
          follower.check();
        }, DEBOUNCE_MS).unref();
      };
      const unregister = register(principal.accountId, scheduleCheck);
      const interval = setInterval(() => follower.check(), deps.checkEveryMs ?? CHECK_EVERY_MS).unref();
      follower.check();
      return () => {
        unregister();
        clearInterval(interval);
        clearTimeout(pending);
        follower.stop();
      };
    },
  };
}
