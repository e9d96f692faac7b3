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

export interface Person {
  readonly accountId: string;
  /** The login session of the browser. */
  readonly sessionId: string;
}

/** The data of the page that starts an authorization. */
export interface AuthorizationPreview {
  readonly connection: Connection;
  /** The upstream's host, or the integration's title. */
  readonly upstreamName: string;
}

/** The request to the callback address. */
export interface AuthorizationCallback {
  /** The path of the request. */
  readonly path: string;
  readonly parameters: URLSearchParams;
}

/** The steps of authorizing a connection in one browser. */
export interface AuthorizationFlow {
  /** Returns what a ticket authorizes. Changes nothing, so that browsers may prefetch. Throws `not_found`. */
  preview(person: Person, ticket: string): Promise<AuthorizationPreview>;
  /**
   * Uses up the ticket and returns the URL of the upstream's login. Throws `not_found`, or TokenFailure with a message
   * for the person; the ticket then stays valid.
   */
  start(person: Person, ticket: string, signal: AbortSignal): Promise<URL>;
  /**
   * Redeems the code and stores the tokens. Throws `not_found` for a flow that this browser did not start or has
   * completed, `conflict` if the connection changed meanwhile, or TokenFailure with a message for the person.
   */
  complete(person: Person, answer: AuthorizationCallback, actor: Actor, signal: AbortSignal): Promise<Connection>;
}

export interface AuthorizationFlowDeps {
  readonly catalog: Catalog;
  readonly connections: Pick<ConnectionStore, "find" | "sealedSecrets" | "openSecrets">;
  readonly view: Pick<ConnectionView, "target">;
  readonly authorizations: AuthorizationStore;
  readonly secrets: AuthorizationSecrets;
  readonly publicUrl: string;
  readonly clients: Pick<UpstreamClients, "forget">;
  readonly grants: Pick<ConnectionGrants, "storeGrant">;
  /** Called after tokens are stored, before the response, to drop this replica's caches of the account. */
  readonly onChange: (event: ConnectionEvent) => void;
}

/** Implements the steps of RFC 6749 §4.1, bound to the account and the browser. */
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
    throw new DomainError("invalid", "This installation can no longer authorize this connection.");
  return { integration, authorization: integration.authorization };
}

/** The secrets that remain when tokens replace the key; undefined if there is no key. */
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
    "This address has been used, is more than ten minutes old, or was made for another account. Request a new one where you got it.",
  );
}

function notStartedHere(): DomainError {
  return new DomainError(
    "not_found",
    "This browser did not start this authorization, took more than ten minutes, or has completed it already. Open the connection and start again there if it still needs authorization.",
  );
}

/** RFC 9700 §4.4: a code of another authorization server must not be sent to this one. */
function wrongCallbackPath({ server }: AuthorizationTerms): TokenFailure {
  const { host } = new URL(server.issuer);
  return new TokenFailure(
    "other",
    `You came back on the address of another authorization server than ${host}, where the connection was to be authorized, ` +
      "so nothing was sent there. Authorize the connection again.",
  );
}

function changedMeanwhile(): DomainError {
  return new DomainError(
    "conflict",
    "The connection was changed or deleted while you were away, so your authorization is not used. Start again at the connection.",
  );
}
