import { DomainError } from "../../domain-error.ts";
import { type Caller, toActor } from "../actor.ts";
import type { OAuthGrant, OAuthGrantStore } from "./grants.ts";
import { isUnlimited, type Principal } from "../principal.ts";
import { onlyHolder, seesHeld } from "../reach.ts";

/**
 * Use cases for the grants of the caller's account. A token of a grant, or one limited to some connections, sees only
 * its own grant. Throws `not_found` for a grant that is missing, revoked or not visible to the caller.
 */
export interface OwnGrants {
  list(principal: Principal): Promise<readonly OAuthGrant[]>;
  revoke(caller: Caller, id: string): Promise<void>;
}

export function createOwnGrants({ store }: { readonly store: Pick<OAuthGrantStore, "list" | "revoke"> }): OwnGrants {
  async function visibleTo(principal: Principal): Promise<readonly OAuthGrant[]> {
    const all = await store.list(principal.accountId);
    return all.filter((grant) => sees(principal, grant.id) && seesHeld(principal, grant));
  }

  async function mayRevoke(caller: Caller, id: string): Promise<boolean> {
    if (!/^grant_[A-Za-z0-9_-]{22}$/.test(id) || !sees(caller, id)) return false;
    return onlyHolder(caller) === undefined || (await visibleTo(caller)).some((grant) => grant.id === id);
  }

  return {
    list: visibleTo,
    async revoke(caller, id) {
      if ((await mayRevoke(caller, id)) && (await store.revoke(caller.accountId, id, toActor(caller)))) return;
      const shown = id.slice(0, 64).replace(/[^\x20-\x7e]/g, "?");
      throw new DomainError("not_found", `Grant ${shown} not found or not accessible`);
    },
  };
}

function sees(principal: Principal, id: string): boolean {
  return principal.grantId === undefined ? isUnlimited(principal) : principal.grantId === id;
}
