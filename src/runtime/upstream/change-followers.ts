import type { ChangeFeed } from "../../connections/change-feed.ts";
import type { UpstreamFeatures } from "./upstream-features.ts";
import { createChangeFollower, type ChangeFollower, type ChangeFollowerDeps } from "./change-follower.ts";
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
  /** Resolves when upstreams know the subscriptions of the account's open streams. Never rejects. */
  settle(accountId: string): Promise<void>;
}

interface Followed {
  readonly follower: ChangeFollower;
  readonly checkSoon: () => void;
}

/** Checks after each change in the account, and regularly because upstreams rarely report changes. */
export function createChangeFollowers(deps: ChangeFollowersDeps): ChangeFollowers {
  const followers = new Map<string, Set<Followed>>();
  const checkSoon = (accountId: string): void => {
    for (const { checkSoon: check } of followers.get(accountId) ?? []) check();
  };
  deps.listings.onChange(({ accountId }) => checkSoon(accountId));
  deps.feed.onChange(({ accountId }) => checkSoon(accountId));
  deps.feed.onGap(() => {
    for (const accountId of followers.keys()) checkSoon(accountId);
  });

  function register(accountId: string, followed: Followed): () => void {
    const own = followers.get(accountId) ?? new Set();
    followers.set(accountId, own.add(followed));
    return () => {
      own.delete(followed);
      if (own.size === 0 && followers.get(accountId) === own) followers.delete(accountId);
    };
  }

  return {
    async settle(accountId) {
      await Promise.all([...(followers.get(accountId) ?? [])].map(({ follower }) => follower.settle()));
    },

    follow(principal, filter, onNotification) {
      const follower = createChangeFollower(deps, principal, filter, onNotification);
      let pending: NodeJS.Timeout | undefined;
      const scheduleCheck = (): void => {
        pending ??= setTimeout(() => {
          pending = undefined;
          void follower.check();
        }, DEBOUNCE_MS).unref();
      };
      const unregister = register(principal.accountId, { follower, checkSoon: scheduleCheck });
      const interval = setInterval(() => void follower.check(), deps.checkEveryMs ?? CHECK_EVERY_MS).unref();
      void follower.check();
      return {
        checkSoon: scheduleCheck,
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
