import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import { DomainError } from "../../domain-error.ts";
import type { RevocationListener } from "../revocations/revocations.ts";
import type { Principal } from "../principal.ts";
import { issuedAtMicros, type Micros } from "../token-id.ts";
import type { Role } from "./role.ts";

/** What a request of a member needs to know. */
export interface Membership {
  readonly role: Role;
  /** Tokens issued before belong to an earlier membership. */
  readonly since: Micros;
}

export interface MembershipStore {
  /** Returns undefined unless the person is a member of the active organization. */
  findMembership(organizationId: string, memberId: string): Promise<Membership | undefined>;
}

/** The memberships of this replica's requests, as they are now. */
export interface Memberships {
  /** Follows changes. */
  start(): Promise<void>;
  /**
   * Returns no promise for a cached membership while notifications arrive. Throws `unavailable` if the database does not
   * respond.
   */
  find(organizationId: string, memberId: string): Membership | undefined | Promise<Membership | undefined>;
  /** Applies a change of this replica before its notification arrives. Undefined stands for every member. */
  forget(organizationId: string, memberId: string | undefined): void;
}

/** Notified of every change of members, inside its transaction: the ids of organization and, unless all changed, member. */
export const MEMBER_CHANNEL = "patchbay_member";

/**
 * Whether a token was issued before its member left and joined again. Personal access tokens are revoked one by one
 * when a member leaves, because their ids have the time of another clock.
 */
export function isOfEarlierMembership(
  { clientId, tokenId, issuedAt }: Pick<Principal, "clientId" | "tokenId" | "issuedAt">,
  { since }: Membership,
): boolean {
  return !clientId.startsWith("pat_") && issuedAtMicros(tokenId, issuedAt) < since;
}

const MAX_CACHED = 100_000;

/** Limits the effect of a notification that was lost without a reconnect. */
const CACHE_MS = 60_000;

/** An entry without a membership keeps rejected tokens from querying the database. */
interface CachedMembership {
  readonly membership: Membership | undefined;
}

/**
 * Caches memberships and drops them when a notification arrives. While notifications are unreliable, every request
 * queries the database.
 */
export function createMemberships(deps: {
  readonly store: MembershipStore;
  readonly listener: RevocationListener;
}): Memberships {
  const { store, listener } = deps;
  const cache = new LRUCache<string, CachedMembership>({ ...atMost(MAX_CACHED), ttl: CACHE_MS });
  const reads = new Map<string, Promise<Membership | undefined>>();
  let isFollowing = false;

  const keyOf = (organizationId: string, memberId: string): string => `${organizationId} ${memberId}`;

  function forget(organizationId: string, memberId: string | undefined): void {
    if (memberId !== undefined) {
      cache.delete(keyOf(organizationId, memberId));
      reads.delete(keyOf(organizationId, memberId));
      return;
    }
    const prefix = keyOf(organizationId, "");
    for (const key of cache.keys()) if (key.startsWith(prefix)) cache.delete(key);
    for (const key of reads.keys()) if (key.startsWith(prefix)) reads.delete(key);
  }

  function forgetAll(): void {
    cache.clear();
    reads.clear();
  }

  async function read(organizationId: string, memberId: string): Promise<Membership | undefined> {
    const key = keyOf(organizationId, memberId);
    const reading = store.findMembership(organizationId, memberId);
    reads.set(key, reading);
    try {
      const membership = await reading;
      // A change that arrived meanwhile removed this read, so its result may be old.
      if (reads.get(key) === reading) cache.set(key, { membership });
      return membership;
    } catch (cause) {
      throw new DomainError("unavailable", "The service cannot check tokens at the moment.", {
        cause,
        retryAfterSeconds: 1,
      });
    } finally {
      if (reads.get(key) === reading) reads.delete(key);
    }
  }

  return {
    forget,
    async start() {
      listener.onReconnect(async () => {
        forgetAll();
      });
      await listener.listen(MEMBER_CHANNEL, (payload) => {
        const [organizationId = "", memberId] = payload.split(" ");
        forget(organizationId, memberId);
      });
      isFollowing = true;
    },
    find(organizationId, memberId) {
      if (!isFollowing || !listener.isHealthy()) return read(organizationId, memberId);
      const known = cache.get(keyOf(organizationId, memberId));
      return known === undefined ? read(organizationId, memberId) : known.membership;
    },
  };
}
