import type { Origin } from "../../../identity/actor.ts";
import { DomainError } from "../../../domain-error.ts";
import { type OAuthGrant, type OAuthGrantStore, newGrantId } from "../../../identity/grants/grants.ts";
import type { LoginSession } from "../../../identity/login/login-session.ts";
import type { OwnConnections } from "../../../identity/oauth/own-connections.ts";
import { isScope, type Scope } from "../../../identity/scopes.ts";
import type { ClientDirectory } from "../clients/client-directory.ts";
import type { AskedAuthorization, Decision } from "../provider/request-context.ts";
import { parseResource } from "../resource.ts";
import { redirectKind } from "../../../identity/clients/client-redirect-uri.ts";
import { isForwardingSite } from "../../../identity/clients/known-redirects.ts";

/** The person's choice on the consent page. */
export interface Choice {
  readonly isApproved: boolean;
  /** Undefined for all connections, including future ones. */
  readonly connectionIds: readonly number[] | undefined;
}

/** Decisions of people about requests of clients. */
export interface Consent {
  /** Returns the earlier decision; `ask` if there is none or the person must decide again. */
  remembered(asked: AskedAuthorization, session: LoginSession): Promise<Decision>;
  /** Stores the person's decision. Fails with `invalid` if it selects no connection. */
  decide(asked: AskedAuthorization, session: LoginSession, choice: Choice, origin: Origin): Promise<Decision>;
  /** The requested scopes that the person can grant. Only administrators can grant `mgmt.admin`. */
  grantable(asked: AskedAuthorization, session: LoginSession): readonly Scope[];
  /** The latest active grant to the client at the resource, as the default on the page. */
  lastGrant(asked: AskedAuthorization, session: LoginSession): Promise<OAuthGrant | undefined>;
}

function isSameSet(left: readonly (string | number)[] = [], right: readonly (string | number)[] = []): boolean {
  return left.length === right.length && left.every((item) => right.includes(item));
}

/**
 * Whether only the client can receive the response: it authenticates at the token endpoint, or its redirect address is
 * a web site. A program on the person's machine does neither, so the person is always asked (RFC 8252 §8.6).
 */
function isAssured({ client, redirectUri }: AskedAuthorization): boolean {
  return client.isConfidential || (redirectKind(redirectUri) === "web" && !isForwardingSite(redirectUri));
}

/** Creates the decisions, which are stored as grants. */
export function createConsent(deps: {
  readonly issuer: string;
  readonly grants: OAuthGrantStore;
  readonly connections: OwnConnections;
  readonly directory: Pick<ClientDirectory, "keep">;
}): Consent {
  const { issuer, grants, connections } = deps;

  function grantable({ scopes }: AskedAuthorization, { isAdmin }: LoginSession): readonly Scope[] {
    return scopes.filter(isScope).filter((scope) => scope !== "mgmt.admin" || isAdmin);
  }

  async function grantsOf(asked: AskedAuthorization, { accountId }: LoginSession): Promise<readonly OAuthGrant[]> {
    const all = await grants.listOfClient(accountId, asked.client.clientId);
    return all.filter(({ resource }) => resource === asked.resource);
  }

  async function chosenIds(
    asked: AskedAuthorization,
    { accountId }: LoginSession,
    choice: Choice,
  ): Promise<readonly number[] | undefined> {
    const only = parseResource(issuer, asked.resource)?.connectionId;
    const wanted = only === undefined ? choice.connectionIds : [only];
    if (wanted === undefined) return undefined;
    const own = new Set((await connections.list(accountId)).map(({ id }) => id));
    const ids = [...new Set(wanted)].filter((id) => own.has(id)).sort((left, right) => left - right);
    if (ids.length === 0) throw new DomainError("invalid", "Select at least one connection, or all connections.");
    return ids;
  }

  return {
    grantable,
    lastGrant: async (asked, session) => (await grantsOf(asked, session))[0],
    async remembered(asked, session) {
      if (asked.mustAsk || !isAssured(asked)) return { kind: "ask" };
      const scopes = grantable(asked, session);
      const held = (await grantsOf(asked, session)).find(
        (grant) => grant.redirectUri === asked.redirectUri && scopes.every((scope) => grant.scopes.includes(scope)),
      );
      return held === undefined ? { kind: "ask" } : { kind: "grant", grantId: held.id, scopes };
    },
    async decide(asked, session, choice, origin) {
      const scopes = grantable(asked, session);
      if (!choice.isApproved || scopes.length === 0) return { kind: "deny" };
      const connectionIds = await chosenIds(asked, session, choice);
      // Repeating a decision reuses the grant, so that the person's list stays short.
      const same = (await grantsOf(asked, session)).find(
        (grant) =>
          grant.redirectUri === asked.redirectUri &&
          isSameSet(grant.scopes, scopes) &&
          (grant.connectionIds === undefined) === (connectionIds === undefined) &&
          isSameSet(grant.connectionIds, connectionIds),
      );
      if (same !== undefined) return { kind: "grant", grantId: same.id, scopes };
      const id = newGrantId();
      const { client, redirectUri, resource } = asked;
      const isNew = await grants.insert(
        {
          accountId: session.accountId,
          id,
          clientId: client.clientId,
          clientName: client.name ?? client.clientId,
          redirectUri,
          scopes,
          resource,
          connectionIds,
        },
        { kind: "account", accountId: session.accountId, clientId: session.id, tokenId: undefined, ...origin },
      );
      if (!isNew)
        throw new DomainError(
          "conflict",
          "Your account has granted access to too many clients; revoke some of them first.",
        );
      await deps.directory.keep(client.clientId);
      return { kind: "grant", grantId: id, scopes };
    },
  };
}
