import { checkPage, DEFAULT_PAGE, type PageQuery } from "../../page.ts";
import { DomainError } from "../../domain-error.ts";
import type { AccountStore } from "../account.ts";
import { type Caller, toActor } from "../actor.ts";
import { checkClientDraft, checkClientName, checkTogether, type ClientDraft } from "./client-registration.ts";
import { MAX_CLIENTS } from "./clients.ts";
import { checkGrace } from "../grace.ts";
import { requireScopes, delegateScopes } from "../delegate-scopes.ts";
import { hashSecret } from "../hash-secret.ts";
import type { ClientRegistration, OAuthClient, OAuthClientStore } from "./oauth-client.ts";
import { isUnlimited, type Principal } from "../principal.ts";
import { randomId, randomSecret } from "../random.ts";
import { holds, onlyHolder, reachableConnections, reachesBound, seesHeld } from "../reach.ts";
import { checkRedirectUris } from "./redirect-uri.ts";

export interface NewClientDraft extends ClientDraft {
  readonly scopes: readonly string[];
}

/** Absent fields keep their values. */
export interface ClientChange {
  readonly name?: string | undefined;
  readonly redirectUris?: readonly string[] | undefined;
}

/** The secret is stored as a hash only. Undefined for clients without one. */
export interface ClientWithSecret {
  readonly client: OAuthClient;
  readonly clientSecret: string | undefined;
}

/**
 * Use cases for the clients of the caller's account. Throws `not_found` for a client that is missing, revoked, of
 * another account or not visible to the token, `conflict` for changing a connection's own client, and `forbidden` for
 * giving scopes that the caller does not have.
 */
export interface OwnClients {
  create(caller: Caller, draft: NewClientDraft): Promise<ClientWithSecret>;
  list(
    principal: Principal,
    query: PageQuery & { readonly includeRevoked?: boolean | undefined },
  ): Promise<{ readonly clients: readonly OAuthClient[]; readonly totalCount: number; readonly hasMore: boolean }>;
  get(principal: Principal, id: string): Promise<OAuthClient>;
  update(caller: Caller, id: string, change: ClientChange): Promise<OAuthClient>;
  rotateSecret(caller: Caller, id: string, graceSeconds: number | undefined): Promise<ClientWithSecret>;
  revoke(caller: Caller, id: string): Promise<void>;
}

export function createOwnClients(deps: {
  readonly store: OAuthClientStore;
  readonly accounts: Pick<AccountStore, "findById">;
  readonly pepper: Uint8Array;
}): OwnClients {
  const { store, accounts, pepper } = deps;

  async function get(principal: Principal, id: string): Promise<OAuthClient> {
    const isPossibleId = /^[A-Za-z0-9_-]{1,128}$/.test(id);
    const client = isPossibleId ? await store.find(principal.accountId, id) : undefined;
    if (client === undefined || !reachesBound(principal, client.connectionId) || !seesHeld(principal, client))
      throw clientNotFound(id);
    return client;
  }

  async function getChangeable(principal: Principal, id: string): Promise<OAuthClient> {
    const client = await get(principal, id);
    if (client.revokedAt !== undefined) throw clientNotFound(id);
    if (client.connectionId !== undefined) {
      throw new DomainError(
        "conflict",
        `The client belongs to MCP server ${client.connectionId} and is changed and deleted with it.`,
      );
    }
    return client;
  }

  async function getHeld(principal: Principal, id: string): Promise<OAuthClient> {
    const client = await getChangeable(principal, id);
    if (!holds(principal, client))
      throw new DomainError("forbidden", "Only the member who holds the client can change it.");
    return client;
  }

  return {
    async create(caller, draft) {
      if (!isUnlimited(caller))
        throw new DomainError("forbidden", "You do not have permission to create OAuth clients.");
      const registration = checkClientDraft(draft);
      const account = await accounts.findById(caller.accountId);
      if (account === undefined) throw new DomainError("unauthenticated", "Invalid or expired token.");
      const scopes = delegateScopes(caller, account, draft.scopes);
      const clientSecret = registration.tokenEndpointAuthMethod === "client_secret_basic" ? randomSecret() : undefined;
      const client = await store.insert(
        {
          ...registration,
          scopes,
          accountId: account.id,
          memberId: caller.memberId,
          id: randomId("client_"),
          secretHash: clientSecret === undefined ? undefined : hashSecret(pepper, clientSecret),
        },
        MAX_CLIENTS,
        toActor(caller),
      );
      return { client, clientSecret };
    },

    async list(principal, query) {
      checkPage(query);
      const { limit = DEFAULT_PAGE, offset = 0 } = query;
      const selection = {
        connectionIds: reachableConnections(principal),
        memberId: onlyHolder(principal),
        includesRevoked: query.includeRevoked ?? false,
      };
      const { clients, totalCount } = await store.list(principal.accountId, selection, limit, offset);
      return { clients, totalCount, hasMore: offset + clients.length < totalCount };
    },

    get,

    async update(caller, id, change) {
      const before = await getHeld(caller, id);
      // Redirect URIs decide who receives authorization codes, so changing them needs the client's scopes.
      if (change.redirectUris !== undefined) requireScopes(caller, before.scopes);
      const after = {
        name: change.name === undefined ? before.name : checkClientName(change.name),
        redirectUris: change.redirectUris === undefined ? before.redirectUris : checkRedirectUris(change.redirectUris),
      };
      checkTogether(after.redirectUris, before.grantTypes, before.tokenEndpointAuthMethod);
      const changed = changedFields(before, after);
      if (changed.length === 0) return before;
      const updated = await store.update(caller.accountId, id, after, changed, toActor(caller));
      if (updated === undefined) throw clientNotFound(id);
      return updated;
    },

    async rotateSecret(caller, id, graceSeconds) {
      const grace = checkGrace(graceSeconds);
      const client = await getHeld(caller, id);
      requireScopes(caller, client.scopes);
      if (client.tokenEndpointAuthMethod !== "client_secret_basic") {
        throw new DomainError(
          "conflict",
          `The client has no secret: its token_endpoint_auth_method is ${client.tokenEndpointAuthMethod}.`,
        );
      }
      const clientSecret = randomSecret();
      const rotated = await store.rotateSecret(
        caller.accountId,
        id,
        hashSecret(pepper, clientSecret),
        grace,
        toActor(caller),
      );
      if (rotated === undefined) throw clientNotFound(id);
      return { client: rotated, clientSecret };
    },

    async revoke(caller, id) {
      await getChangeable(caller, id);
      if (!(await store.revoke(caller.accountId, id, toActor(caller)))) throw clientNotFound(id);
    },
  };
}

function changedFields(
  before: OAuthClient,
  after: Pick<ClientRegistration, "name" | "redirectUris">,
): readonly string[] {
  const hasNewUris = JSON.stringify(before.redirectUris) !== JSON.stringify(after.redirectUris);
  return [...(before.name === after.name ? [] : ["name"]), ...(hasNewUris ? ["redirect_uris"] : [])];
}

/** Echoes at most 64 printable characters of the id. */
function clientNotFound(id: string): DomainError {
  const shown = id.slice(0, 64).replace(/[^\x20-\x7e]/g, "?");
  return new DomainError("not_found", `OAuth client ${shown} not found or not accessible`);
}
