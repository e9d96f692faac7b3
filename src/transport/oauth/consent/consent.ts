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

/** What a person chose on the page. */
export interface Choice {
  readonly isApproved: boolean;
  /** Undefined for all connections, also those to come. */
  readonly connectionIds: readonly number[] | undefined;
}

/** The decisions of people on what clients ask for. */
export interface Consent {
  /** What was decided before and still holds; `ask` when nothing was, or when it must be asked anew. */
  remembered(asked: AskedAuthorization, session: LoginSession): Promise<Decision>;
  /** Keeps what the person decides now. Fails with `invalid` for a choice that is none. */
  decide(asked: AskedAuthorization, session: LoginSession, choice: Choice, origin: Origin): Promise<Decision>;
  /** The scopes that the person can grant of those asked for: `mgmt.admin` is an administrator's to give. */
  grantable(asked: AskedAuthorization, session: LoginSession): readonly Scope[];
  /** The last live grant to the client at the resource, as a proposal for the page. */
  lastGrant(asked: AskedAuthorization, session: LoginSession): Promise<OAuthGrant | undefined>;
}

function isSameSet(left: readonly (string | number)[] = [], right: readonly (string | number)[] = []): boolean {
  return left.length === right.length && left.every((item) => right.includes(item));
}

/**
 * Whether nobody but the client can receive what is sent to it: it proves who it is at the token endpoint, or its address
 * is a site's. A program on the person's machine does neither, so there a person is always asked (RFC 8252 §8.6).
 */
function isAssured({ client, redirectUri }: AskedAuthorization): boolean {
  return client.isConfidential || (redirectKind(redirectUri) === "web" && !isForwardingSite(redirectUri));
}

/** Decisions over the grants. */
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
    if (ids.length === 0) throw new DomainError("invalid", "Tick at least one connection, or choose all of them.");
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
      // The same decision again is the same grant, so that a person's list of them stays short.
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
        throw new DomainError("conflict", "Your account allows too many clients; take some of them back first.");
      await deps.directory.keep(client.clientId);
      return { kind: "grant", grantId: id, scopes };
    },
  };
}
