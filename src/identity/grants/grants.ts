import { DomainError } from "../../domain-error.ts";
import type { Actor } from "../actor.ts";
import { randomId } from "../random.ts";
import type { Revocations } from "../revocations/revocations.ts";
import type { Scope } from "../scopes.ts";
import type { Micros } from "../token-id.ts";

/**
 * What a person allowed a client to do: scopes, resource and connections. Each token of the code flow names its grant.
 * A grant never changes; a different choice creates another grant.
 */
export interface OAuthGrant {
  readonly accountId: string;
  /** The member who allowed it, and whom its tokens act for, in an organization. */
  readonly memberId: string | undefined;
  /** The token's `grant_id`, `grant_<random>`. */
  readonly id: string;
  readonly clientId: string;
  /** The client's name at the time of consent. */
  readonly clientName: string;
  /** The redirect URI at the time of consent. */
  readonly redirectUri: string;
  readonly scopes: readonly Scope[];
  readonly resource: string;
  /** The chosen connections by id; undefined for all of the account, including future ones. */
  readonly connectionIds: readonly number[] | undefined;
  readonly createdAt: Date;
  /** When a token was last issued; undefined before the first one. */
  readonly lastUsedAt: Date | undefined;
}

export type NewOAuthGrant = Omit<OAuthGrant, "createdAt" | "lastUsedAt">;

/** A grant with what a new token needs. */
export interface TokenGrant extends OAuthGrant {
  /** The issue instant of the token: later than every revocation that this query has seen. */
  readonly issuedAt: Micros;
  /** Whether the account is an administrator now. */
  readonly isAdmin: boolean;
}

/** Stores grants. Revoked grants and those of disabled accounts are not returned. */
export interface OAuthGrantStore {
  /** Returns false if the account is deleted or disabled, or if it, or the member in it, has 1,000 active grants. */
  insert(grant: NewOAuthGrant, actor: Actor): Promise<boolean>;
  list(accountId: string): Promise<readonly OAuthGrant[]>;
  listOfClient(accountId: string, clientId: string): Promise<readonly OAuthGrant[]>;
  /** Whether the client has a grant of any account. */
  hasClient(clientId: string): Promise<boolean>;
  /** Finds a grant by id only, because the token endpoint learns the account from the grant. */
  findForToken(id: string): Promise<TokenGrant | undefined>;
  /** The connections of a grant's tokens and whom they act for; undefined if the grant is not active. */
  findReach(
    accountId: string,
    id: string,
  ): Promise<
    { readonly connectionIds: ReadonlySet<number> | undefined; readonly memberId: string | undefined } | undefined
  >;
  /** Records that a token was issued. */
  touch(accountId: string, id: string): Promise<void>;
  /**
   * Revokes the grant and its access tokens and deletes its refresh tokens, in one transaction. Returns false if it is
   * not active.
   */
  revoke(accountId: string, id: string, actor: Actor): Promise<boolean>;
}

export interface Grants {
  /** Newest first. */
  list(accountId: string): Promise<readonly OAuthGrant[]>;
  /** Revokes the grant and every token of it. Throws `not_found` if the account has no such active grant. */
  revoke(accountId: string, id: string, actor: Actor): Promise<void>;
}

/** Wraps a store so that this replica applies revocations before their notification arrives. */
export function revokeImmediately(store: OAuthGrantStore, revocations: Pick<Revocations, "add">): OAuthGrantStore {
  return {
    ...store,
    async revoke(accountId, id, actor) {
      const isRevoked = await store.revoke(accountId, id, actor);
      if (isRevoked) revocations.add({ kind: "grant", subject: id, before: undefined });
      return isRevoked;
    },
  };
}

export function newGrantId(): string {
  return randomId("grant_");
}

export function createGrants({ store }: { store: Pick<OAuthGrantStore, "list" | "revoke"> }): Grants {
  return {
    list: (accountId) => store.list(accountId),
    async revoke(accountId, id, actor) {
      const isPossibleId = /^grant_[A-Za-z0-9_-]{22}$/.test(id);
      if (!isPossibleId || !(await store.revoke(accountId, id, actor))) {
        throw new DomainError("not_found", "There is no active grant with this id.");
      }
    },
  };
}
