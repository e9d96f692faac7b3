import type { Origin } from "../../../identity/actor.ts";
import { DomainError } from "../../../domain-error.ts";
import { type OAuthGrant, type OAuthGrantStore, newGrantId } from "../../../identity/grants/grants.ts";
import type { LoginSession } from "../../../identity/login/login-session.ts";
import type { ActingAccount, ListActingAccounts } from "../../../identity/oauth/acting-account.ts";
import type { OwnConnection, OwnConnections } from "../../../identity/oauth/own-connections.ts";
import { isScope, type Scope } from "../../../identity/scopes.ts";
import type { ClientDirectory } from "../clients/client-directory.ts";
import type { AskedAuthorization, Decision } from "../provider/request-context.ts";
import { parseResource } from "../resource.ts";
import { redirectKind } from "../../../identity/clients/client-redirect-uri.ts";
import { isForwardingSite } from "../../../identity/clients/known-redirects.ts";

/** The person's choice on the consent page. */
export interface Choice {
  /** `switch` asks again, for the chosen account. */
  readonly decision: "approve" | "deny" | "switch";
  /** The account to act for. Undefined for the person's own. */
  readonly accountId: string | undefined;
  /** Undefined for all connections, including future ones. */
  readonly connectionIds: readonly number[] | undefined;
}

/** Decisions of people about requests of clients. */
export interface Consent {
  /** Returns the earlier decision; `ask` if there is none or the person must decide again. */
  remembered(asked: AskedAuthorization, session: LoginSession): Promise<Decision>;
  /** Stores the person's decision. Fails with `invalid` if it selects no connection, or an account of others. */
  decide(asked: AskedAuthorization, session: LoginSession, choice: Choice, origin: Origin): Promise<Decision>;
  /** The requested scopes that the person can grant. Only administrators can grant `mgmt.admin`. */
  grantable(asked: AskedAuthorization, account: ActingAccount): readonly Scope[];
  /** The latest active grant to the client at the resource, as the default on the page. */
  lastGrant(asked: AskedAuthorization, account: ActingAccount): Promise<OAuthGrant | undefined>;
  /** The accounts the person can act for, the person's own first. */
  accounts: ListActingAccounts;
  /** The connections that the person can choose in an account. */
  connectionsOf(account: ActingAccount): Promise<readonly OwnConnection[]>;
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
  readonly accounts: ListActingAccounts;
  readonly directory: Pick<ClientDirectory, "keep">;
}): Consent {
  const { issuer, grants, connections } = deps;

  function grantable({ scopes }: AskedAuthorization, { isAdmin }: ActingAccount): readonly Scope[] {
    return scopes.filter(isScope).filter((scope) => scope !== "mgmt.admin" || isAdmin);
  }

  async function grantsOf(asked: AskedAuthorization, account: ActingAccount): Promise<readonly OAuthGrant[]> {
    const all = await grants.listOfClient(account.accountId, asked.client.clientId);
    return all.filter(({ resource, memberId }) => resource === asked.resource && memberId === account.memberId);
  }

  async function connectionsOf({ accountId, role }: ActingAccount): Promise<readonly OwnConnection[]> {
    return role === "member" ? [] : connections.list(accountId);
  }

  /** Undefined if there is none. */
  async function rememberedGrant(asked: AskedAuthorization, account: ActingAccount): Promise<OAuthGrant | undefined> {
    const scopes = grantable(asked, account);
    return (await grantsOf(asked, account)).find(
      (grant) => grant.redirectUri === asked.redirectUri && scopes.every((scope) => grant.scopes.includes(scope)),
    );
  }

  async function chosenIds(
    asked: AskedAuthorization,
    account: ActingAccount,
    choice: Choice,
  ): Promise<readonly number[] | undefined> {
    const only = parseResource(issuer, asked.resource)?.connectionId;
    const wanted = only === undefined ? choice.connectionIds : [only];
    if (wanted === undefined) return undefined;
    const own = new Set((await connectionsOf(account)).map(({ id }) => id));
    const ids = [...new Set(wanted)].filter((id) => own.has(id)).sort((left, right) => left - right);
    if (ids.length === 0) throw new DomainError("invalid", "Select at least one connection, or all connections.");
    return ids;
  }

  return {
    grantable,
    accounts: deps.accounts,
    connectionsOf,
    lastGrant: async (asked, account) => (await grantsOf(asked, account))[0],
    async remembered(asked, session) {
      if (asked.mustAsk || !isAssured(asked)) return { kind: "ask" };
      const accounts = await deps.accounts(session);
      const remembered = await Promise.all(accounts.map((account) => rememberedGrant(asked, account)));
      const [first, ...more] = accounts.flatMap((account, index) => {
        const grant = remembered[index];
        return grant === undefined ? [] : [{ grantId: grant.id, scopes: grantable(asked, account) }];
      });
      // Whoever allowed the client for several accounts chooses one each time.
      return first === undefined || more.length > 0 ? { kind: "ask" } : { kind: "grant", ...first };
    },
    async decide(asked, session, choice, origin) {
      const accounts = await deps.accounts(session);
      const wanted = choice.accountId ?? session.accountId;
      const account = accounts.find(({ accountId }) => accountId === wanted);
      if (choice.decision === "deny") return { kind: "deny" };
      if (account === undefined) throw new DomainError("invalid", "Choose one of your accounts.");
      if (choice.decision === "switch") return { kind: "ask" };
      const scopes = grantable(asked, account);
      if (scopes.length === 0) return { kind: "deny" };
      const connectionIds = await chosenIds(asked, account, choice);
      // Repeating a decision reuses the grant, so that the person's list stays short.
      const same = (await grantsOf(asked, account)).find(
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
          accountId: account.accountId,
          memberId: account.memberId,
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
