import { DomainError } from "../../domain-error.ts";
import type { Actor } from "../actor.ts";
import { randomId } from "../random.ts";
import type { Revocations } from "../revocations/revocations.ts";
import type { Scope } from "../scopes.ts";
import type { Micros } from "../token-id.ts";

/**
 * What a person allowed a client to do: which scopes, at which resource, on which connections. Every token of the code flow
 * comes from one and names it. What it allows never changes; a person who chooses otherwise makes another grant.
 */
export interface OAuthGrant {
  readonly accountId: string;
  /** `grant_<random>`, the token's `grant_id`. */
  readonly id: string;
  readonly clientId: string;
  /** The client's name as the person saw it. */
  readonly clientName: string;
  /** Where the client was sent back to when it was approved. */
  readonly redirectUri: string;
  readonly scopes: readonly Scope[];
  /** The `aud` of its tokens. */
  readonly resource: string;
  /** The connections that were chosen, by id; undefined for all of the account, also those to come. */
  readonly connectionIds: readonly number[] | undefined;
  readonly createdAt: Date;
  /** When a token was last got with it; undefined before the first. */
  readonly lastUsedAt: Date | undefined;
}

/** A grant about to be stored. */
export type NewOAuthGrant = Omit<OAuthGrant, "createdAt" | "lastUsedAt">;

/** What a new token of a grant is made from. */
export interface TokenGrant extends OAuthGrant {
  /** The moment at which its token counts as issued: after every revocation that this reading has seen. */
  readonly issuedAt: Micros;
  /** Whether the account administers the installation at present. */
  readonly isAdmin: boolean;
}

/** Where grants are kept. A revoked one, and one of a disabled account, is as good as none. */
export interface OAuthGrantStore {
  /** False when the account is gone or disabled, or has 1,000 grants in use. */
  insert(grant: NewOAuthGrant, actor: Actor): Promise<boolean>;
  /** Newest first. */
  list(accountId: string): Promise<readonly OAuthGrant[]>;
  listOfClient(accountId: string, clientId: string): Promise<readonly OAuthGrant[]>;
  /** Whether anybody allows the client anything. */
  hasClient(clientId: string): Promise<boolean>;
  /** By id alone: for the token endpoint, where what the client presents names the grant, and the grant the account. */
  findForToken(id: string): Promise<TokenGrant | undefined>;
  /** The connections that a grant's tokens see; undefined when it is not in use. */
  findReach(
    accountId: string,
    id: string,
  ): Promise<{ readonly connectionIds: ReadonlySet<number> | undefined } | undefined>;
  /** Notes that a token was got with it. */
  touch(accountId: string, id: string): Promise<void>;
  /** Marks the grant, revokes its access tokens and drops its refresh tokens, in one transaction. False when none is in use. */
  revoke(accountId: string, id: string, actor: Actor): Promise<boolean>;
}

/** The use cases of grants. */
export interface Grants {
  /** What the account allows at present, newest first. */
  list(accountId: string): Promise<readonly OAuthGrant[]>;
  /** Ends a grant: every token of it is refused. `not_found` when the account has none in use with the id. */
  revoke(accountId: string, id: string, actor: Actor): Promise<void>;
}

/** A store whose revocations this replica applies at once, ahead of their notification. */
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

/** A name for a new grant. */
export function newGrantId(): string {
  return randomId("grant_");
}

/** The use cases of grants over a store. */
export function createGrants({ store }: { store: Pick<OAuthGrantStore, "list" | "revoke"> }): Grants {
  return {
    list: (accountId) => store.list(accountId),
    async revoke(accountId, id, actor) {
      const isPossibleId = /^grant_[A-Za-z0-9_-]{22}$/.test(id);
      if (!isPossibleId || !(await store.revoke(accountId, id, actor))) {
        throw new DomainError("not_found", "There is no such grant in use.");
      }
    },
  };
}
