import type { ChangeFeed } from "../../connections/change-feed.ts";
import type { UpstreamFeatures } from "./upstream-features.ts";
import { createFollower, type FollowerDeps } from "./upstream-follower.ts";
import type { UpstreamOffers } from "./upstream-listings.ts";

/** How often the offers in view, and what a follower wants to hear, are looked at: in memory alone, mostly, in milliseconds. */
const LOOK_EVERY_MS = 5_000;
/** Changes come in groups: how long to wait for the rest of one, in milliseconds. */
const SETTLE_MS = 50;

/** What following needs. */
export interface UpstreamFollowersDeps extends FollowerDeps {
  readonly offers: UpstreamOffers;
  readonly feed: ChangeFeed;
  readonly lookEveryMs?: number;
}

/** Everybody who follows upstreams. */
export interface UpstreamFollowers {
  readonly follow: UpstreamFeatures["follow"];
  /** Has the followers of an account look soon. */
  wake(accountId: string): void;
}

/** Followers by account: they look when something changes there, and now and then because upstreams rarely say so. */
export function createUpstreamFollowers(deps: UpstreamFollowersDeps): UpstreamFollowers {
  const followers = new Map<string, Set<() => void>>();
  const wake = (accountId: string): void => {
    for (const look of followers.get(accountId) ?? []) look();
  };
  deps.offers.onChange(({ accountId }) => wake(accountId));
  deps.feed.onChange(({ accountId }) => wake(accountId));
  deps.feed.onGap(() => {
    for (const accountId of followers.keys()) wake(accountId);
  });

  function register(accountId: string, look: () => void): () => void {
    const own = followers.get(accountId) ?? new Set();
    followers.set(accountId, own.add(look));
    return () => {
      own.delete(look);
      if (own.size === 0 && followers.get(accountId) === own) followers.delete(accountId);
    };
  }

  return {
    wake,

    follow(principal, interest, hear) {
      const follower = createFollower(deps, principal, interest, hear);
      let settling: NodeJS.Timeout | undefined;
      const soon = (): void => {
        settling ??= setTimeout(() => {
          settling = undefined;
          follower.look();
        }, SETTLE_MS).unref();
      };
      const unregister = register(principal.accountId, soon);
      const regularly = setInterval(() => follower.look(), deps.lookEveryMs ?? LOOK_EVERY_MS).unref();
      follower.look();
      return () => {
        unregister();
        clearInterval(regularly);
        clearTimeout(settling);
        follower.stop();
      };
    },
  };
}
