import type { Actor } from "../../identity/actor.ts";
import { DomainError } from "../../domain-error.ts";
import { authorizationRequest } from "../../integrations/oauth/authorization-request.ts";
import type { AuthorizationTerms, OwnerAuthorization } from "../../integrations/authorization.ts";
import { forgetClientIfUnknown } from "../../integrations/oauth/forget-unknown-client.ts";
import { toStoredTokens } from "../../integrations/oauth/grant.ts";
import { redeemCode } from "../../integrations/oauth/redeem-code.ts";
import { TokenFailure } from "../../integrations/oauth/token-failure.ts";
import type { UpstreamClients } from "../../integrations/oauth/upstream-clients.ts";
import type { Catalog, Integration } from "../../integrations/integration.ts";
import type { JsonObject } from "../../json.ts";
import type { ConnectionEvent } from "../change-feed.ts";
import type { Connection } from "../connection.ts";
import type { ConnectionGrants } from "./connection-grants.ts";
import type { ConnectionStore } from "../connection-store.ts";
import type { ConnectionView } from "../connection-view.ts";
import type { AuthorizationStore } from "./authorization-store.ts";
import { AUTHORIZATION_SECONDS, type AuthorizationSecrets, isSecret } from "./tickets.ts";

/** A person in a browser, logged in. */
export interface Person {
  readonly accountId: string;
  /** The login session: one browser of theirs. */
  readonly sessionId: string;
}

/** What a person is about to authorise. */
export interface AuthorizationPreview {
  readonly connection: Connection;
  /** Where it connects to: a host, or the third party's name. */
  readonly upstreamName: string;
}

/** What a person came back with from a third party. */
export interface AuthorizationCallback {
  /** The path on which they arrived. */
  readonly path: string;
  readonly parameters: URLSearchParams;
}

/** The way of a person through the authorization of a connection, in one browser. */
export interface AuthorizationFlow {
  /** What a ticket is for. Changes nothing, so that a browser may look ahead. Throws `not_found`. */
  preview(person: Person, ticket: string): Promise<AuthorizationPreview>;
  /**
   * Uses the ticket up and answers where the person goes to log in. Throws `not_found`, or TokenFailure with a sentence for
   * the person; the ticket then stays good.
   */
  start(person: Person, ticket: string, signal: AbortSignal): Promise<URL>;
  /**
   * Redeems what the person came back with and puts it in force. Throws `not_found` for what this browser did not begin or
   * has finished already, `conflict` when the connection changed meanwhile, or TokenFailure with a sentence for the person.
   */
  complete(person: Person, answer: AuthorizationCallback, actor: Actor, signal: AbortSignal): Promise<Connection>;
}

/** What the flow needs. */
export interface AuthorizationFlowDeps {
  readonly catalog: Catalog;
  readonly connections: Pick<ConnectionStore, "find" | "sealedSecrets" | "openSecrets">;
  readonly view: Pick<ConnectionView, "target">;
  readonly authorizations: AuthorizationStore;
  readonly secrets: AuthorizationSecrets;
  readonly publicUrl: string;
  /** Our registrations at authorization servers. */
  readonly clients: Pick<UpstreamClients, "forget">;
  readonly grants: Pick<ConnectionGrants, "storeGrant">;
  /** Called after an authorization is in force, before it is answered: what this replica remembers of the account is out of date. */
  readonly onChange: (event: ConnectionEvent) => void;
}

/** Makes the flow: the steps in the order of RFC 6749 §4.1, each bound to the account and the browser that it began in. */
export function createAuthorizationFlow(deps: AuthorizationFlowDeps): AuthorizationFlow {
  const { secrets, authorizations } = deps;

  async function open({ accountId }: Person, ticket: string) {
    const hash = isSecret(ticket) ? secrets.hash("ticket", ticket) : undefined;
    const asked = hash && (await authorizations.find(accountId, hash));
    const connection = asked && (await deps.connections.find(accountId, asked.connectionId));
    if (asked === undefined || connection === undefined) throw unusableTicket();
    return { asked, connection, ...authorizationOf(deps.catalog, connection) };
  }

  return {
    async preview(person, ticket) {
      const { connection, integration } = await open(person, ticket);
      return { connection, upstreamName: upstreamNameOf(connection, integration) };
    },

    async start(person, ticket, signal) {
      const { asked, connection, authorization } = await open(person, ticket);
      const terms = await authorization.terms(await deps.view.target(connection), asked.wantedScope, signal);
      const [state, codeVerifier] = [secrets.generate(), secrets.generate()];
      const address = authorizationRequest(terms, {
        redirectUri: deps.publicUrl + terms.callbackPath,
        state,
        codeVerifier,
      });
      const { keyVersion } = connection;
      const begun = { connectionId: connection.id, keyVersion, terms, codeVerifier, sessionId: person.sessionId };
      const stateHash = secrets.hash("state", state);
      if (!(await authorizations.start(person.accountId, asked.id, { ...begun, stateHash }, AUTHORIZATION_SECONDS)))
        throw unusableTicket();
      return address;
    },

    async complete({ accountId, sessionId }, { path, parameters }, actor, signal) {
      const state = parameters.getAll("state");
      const [known = ""] = state;
      const begun =
        state.length === 1 && isSecret(known)
          ? await authorizations.consume(accountId, sessionId, secrets.hash("state", known))
          : undefined;
      if (begun === undefined) throw notStartedHere();
      const { connectionId, keyVersion, terms, codeVerifier } = begun;
      if (path !== terms.callbackPath) throw wrongCallbackPath(terms);
      const connection = await deps.connections.find(accountId, connectionId);
      if (connection?.keyVersion !== keyVersion) throw changedMeanwhile();
      const { integration, authorization } = authorizationOf(deps.catalog, connection);
      const redirectUri = deps.publicUrl + terms.callbackPath;
      const proof = { redirectUri, state: known, codeVerifier };
      const askedMs = Date.now();
      const issued = await forgetClientIfUnknown(terms, redirectUri, deps.clients, () =>
        redeemCode(terms, parameters, proof, authorization.dispatcher, signal),
      );
      const tokens = toStoredTokens(issued, askedMs);
      const { serverType } = connection;
      const others = await withoutKey(deps.connections, connection, integration);
      const grant = { accountId, connectionId, serverType, keyVersion, terms, tokens, secrets: others };
      const stored = await deps.grants.storeGrant(grant, actor);
      if (stored === undefined) throw changedMeanwhile();
      deps.onChange({ accountId, connectionId, event: "updated" });
      return stored;
    },
  };
}

function authorizationOf(
  catalog: Catalog,
  connection: Connection,
): { readonly integration: Integration; readonly authorization: OwnerAuthorization } {
  const integration = catalog.get(connection.serverType);
  if (integration?.authorization === undefined)
    throw new DomainError("invalid", "This installation can no longer have this connection authorised.");
  return { integration, authorization: integration.authorization };
}

/** The secrets that stay when tokens take the place of the key; undefined where there is no key. */
async function withoutKey(
  store: Pick<ConnectionStore, "sealedSecrets" | "openSecrets">,
  { accountId, id, keyVersion, hasCredential }: Connection,
  { credentialProperty = "" }: Integration,
): Promise<JsonObject | undefined> {
  const sealed = hasCredential ? await store.sealedSecrets(accountId, id, keyVersion) : undefined;
  if (sealed === undefined) return undefined;
  const { [credentialProperty]: _key, ...others } = store.openSecrets(accountId, id, sealed);
  return others;
}

function upstreamNameOf({ configuration }: Connection, { title }: Integration): string {
  const { url } = configuration;
  return typeof url === "string" && URL.canParse(url) ? new URL(url).host : title;
}

function unusableTicket(): DomainError {
  return new DomainError(
    "not_found",
    "This address has been used, is more than ten minutes old, or was made for another account. Have a new one made where you got it from.",
  );
}

function notStartedHere(): DomainError {
  return new DomainError(
    "not_found",
    "This browser did not begin this authorization, took more than ten minutes, or has finished it already. Look at the connection, and begin again there if it still waits for you.",
  );
}

/** RFC 9700 §4.4: a code that another authorization server gave out must not be sent to this one. */
function wrongCallbackPath({ server }: AuthorizationTerms): TokenFailure {
  const { host } = new URL(server.issuer);
  return new TokenFailure(
    "other",
    `You came back on the address of another authorization server than ${host}, where the connection was to be authorised, ` +
      "so nothing was sent there. Authorise the connection again.",
  );
}

function changedMeanwhile(): DomainError {
  return new DomainError(
    "conflict",
    "The connection was changed or deleted while you were away, so what you authorised is not used. Begin again at the connection.",
  );
}
