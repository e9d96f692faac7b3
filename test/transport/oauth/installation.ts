import { randomBytes } from "node:crypto";
import { pino } from "pino";
import type { Account } from "../../../src/identity/account.ts";
import { type Accounts, createAccounts } from "../../../src/identity/accounts/accounts.ts";
import { type OAuthClients, createOAuthClients, type CreatedClient } from "../../../src/identity/clients/clients.ts";
import { revokeImmediately, createGrants, type Grants } from "../../../src/identity/grants/grants.ts";
import { createCookies } from "../../../src/transport/http/cookies.ts";
import { createPort, type Port } from "../../../src/transport/http/port.ts";
import type { Route } from "../../../src/transport/http/router.ts";
import { serveRoutes } from "../../../src/transport/http/serve-routes.ts";
import { createBrowserSessions } from "../../../src/transport/pages/login/browser-sessions.ts";
import { createCsrf } from "../../../src/transport/pages/csrf.ts";
import { createLoginSessions, type LoginSessions } from "../../../src/identity/login/login-sessions.ts";
import { createOAuthRoutes, type OAuthServerDeps } from "../../../src/transport/oauth/routes.ts";
import {
  createPersonalAccessTokens,
  type PersonalAccessTokens,
} from "../../../src/identity/tokens/personal-access-tokens.ts";
import { createKeyRotation, type KeyRotation } from "../../../src/identity/keys/key-rotation.ts";
import type { RewrapSecrets } from "../../../src/identity/keys/rewrap-secrets.ts";
import {
  createRevocations,
  type RevocationListener,
  type Revocations,
} from "../../../src/identity/revocations/revocations.ts";
import { loadSigningKeys, type SigningKeys } from "../../../src/identity/keys/signing-keys.ts";
import { createTokenVerifier, type TokenVerifier } from "../../../src/identity/tokens/verifier.ts";
import { createGuardedDispatcher } from "../../../src/outbound/guarded-dispatcher.ts";
import { type Database, openDatabase } from "../../../src/storage/database.ts";
import { openInstallation } from "../../../src/storage/installation.ts";
import { createListener } from "../../../src/storage/listener.ts";
import { rewrapSecrets } from "../../../src/storage/rewrap.ts";
import { createSealer, type Sealer } from "../../../src/storage/sealing.ts";
import { createAccountStore } from "../../../src/storage/stores/identity/account.ts";
import { createClientStore } from "../../../src/storage/stores/identity/client.ts";
import { createOAuthGrantStore } from "../../../src/storage/stores/identity/grant.ts";
import { createLoginSessionStore } from "../../../src/storage/stores/identity/login-session.ts";
import { createPayloadStore } from "../../../src/storage/stores/identity/oidc-payload.ts";
import { createOwnConnections } from "../../../src/storage/stores/identity/own-connections.ts";
import { createPersonalAccessTokenStore } from "../../../src/storage/stores/identity/personal-access-token.ts";
import { createRevocationStore, revoke } from "../../../src/storage/stores/identity/revocation.ts";
import { createSigningKeyStore } from "../../../src/storage/stores/identity/signing-key.ts";
import { createMemberStore } from "../../../src/storage/stores/organizations/member.ts";
import { createOrganizationReader } from "../../../src/storage/stores/organizations/organization-reader.ts";
import type { MemberStore } from "../../../src/identity/organizations/organization.ts";
import { createMemberships } from "../../../src/identity/organizations/memberships.ts";
import { createListActingAccounts } from "../../../src/identity/oauth/acting-account.ts";
import { createTestDatabase } from "../../support/database.ts";

const log = pino({ level: "silent" });

/** Token verifier of one replica, with a separate database listener unless the caller passes one. */
export interface Replica {
  readonly verifier: TokenVerifier;
  readonly keys: SigningKeys;
  readonly keyRotation: KeyRotation;
  readonly revocations: Revocations;
  close(): Promise<void>;
}

/** Accounts, clients, keys and a token endpoint on a separate database. */
export interface Installation {
  readonly database: Database;
  readonly databaseUrl: string;
  /** `PUBLIC_URL`: the address of the token endpoint. */
  readonly issuer: string;
  readonly sealer: Sealer;
  readonly pepper: Buffer;
  readonly keys: SigningKeys;
  /** Dependencies of the OAuth server, from which a test creates another server. */
  readonly serverDeps: OAuthServerDeps;
  readonly grants: Grants;
  readonly sessions: LoginSessions;
  readonly keyRotation: KeyRotation;
  readonly rewrapSecrets: RewrapSecrets;
  readonly accounts: Accounts;
  readonly clients: OAuthClients;
  readonly memberStore: MemberStore;
  readonly personalAccessTokens: PersonalAccessTokens;
  newAccount(isAdmin?: boolean): Promise<Account>;
  startReplica(listener?: RevocationListener): Promise<Replica>;
  /** Returns an access token from the token endpoint. */
  token(client: CreatedClient, form?: Readonly<Record<string, string>>): Promise<string>;
  close(): Promise<void>;
}

export function basic({ clientId, clientSecret }: CreatedClient): string {
  return `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`;
}

/** Serves only these routes over HTTP/1.1 and HTTP/2. */
export async function serveAlone(
  routes: readonly Route[],
  host = "127.0.0.1",
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const listener: Port = createPort({ host, port: 0, handler: serveRoutes(routes) });
  const { port } = await listener.listen();
  return { port, close: () => listener.close(0) };
}

export async function startInstallation({
  trustProxy = false,
  registration = undefined as OAuthServerDeps["registration"],
  dispatcher = createGuardedDispatcher({ allow: [] }),
} = {}): Promise<Installation> {
  const testDatabase = await createTestDatabase();
  const database = await openDatabase({ url: testDatabase.url, poolSize: 4 });
  const sealer = createSealer([{ version: 1, key: randomBytes(32) }]);
  const { pepper } = await openInstallation(database, sealer);
  const keyStore = createSigningKeyStore(database.orm, sealer);
  const keys = await loadSigningKeys(keyStore);
  const clientStore = createClientStore(database);
  const personalAccessTokenStore = createPersonalAccessTokenStore(database);
  const accounts = createAccounts({ store: createAccountStore(database.orm) });

  let handle = serveRoutes([]);
  const server = createPort({
    host: "127.0.0.1",
    port: 0,
    handler: (exchange) => {
      handle(exchange);
    },
  });
  const issuer = `http://127.0.0.1:${(await server.listen()).port}`;
  const grantStore = createOAuthGrantStore(database);
  const listener = createListener({ url: testDatabase.url, log });
  const revocations = createRevocations({ store: createRevocationStore(database.pool), listener });
  const memberships = createMemberships({ store: createMemberStore(database), listener });
  await Promise.all([revocations.start(), memberships.start(), keys.follow(listener)]);
  const sessions = createLoginSessions({
    store: createLoginSessionStore(database),
    pepper,
  });
  const serverDeps: OAuthServerDeps = {
    issuer,
    pepper,
    clients: clientStore,
    grants: revokeImmediately(grantStore, revocations),
    payloads: createPayloadStore(database.orm),
    keys,
    verifier: createTokenVerifier({
      issuer,
      keys,
      revocations,
      personalAccessTokens: personalAccessTokenStore,
      grants: grantStore,
      memberships,
    }),
    sessions: createBrowserSessions({ sessions, cookies: createCookies(issuer) }),
    csrf: createCsrf({ publicUrl: issuer, pepper }),
    connections: createOwnConnections(database.orm),
    actingAccounts: createListActingAccounts(createOrganizationReader(database.orm)),
    dispatcher,
    revokeAccessToken: (accountId, tokenId) => revoke(database.pool, { accountId, kind: "token", subject: tokenId }),
    registration,
    trustProxy,
    recordIssue: () => undefined,
    log,
  };
  handle = serveRoutes(createOAuthRoutes(serverDeps));
  let made = 0;

  return {
    database,
    databaseUrl: testDatabase.url,
    issuer,
    sealer,
    pepper,
    keys,
    serverDeps,
    grants: createGrants({ store: grantStore }),
    sessions,
    keyRotation: createKeyRotation({ store: keyStore, keys, rotateAfterDays: 30 }),
    rewrapSecrets: () => rewrapSecrets(database.pool, sealer),
    accounts,
    clients: createOAuthClients({ store: clientStore, pepper }),
    memberStore: createMemberStore(database),
    personalAccessTokens: createPersonalAccessTokens({ store: personalAccessTokenStore, keys, issuer }),
    async newAccount(isAdmin = false) {
      const { accountId } = await accounts.create({ email: `person-${++made}@example.com`, isAdmin });
      return accounts.find(accountId);
    },
    async startReplica(given) {
      const own = given === undefined ? createListener({ url: testDatabase.url, log }) : undefined;
      const listener = given ?? own;
      if (listener === undefined) throw new Error("a replica needs a listener");
      const revocations = createRevocations({ store: createRevocationStore(database.pool), listener });
      await revocations.start();
      const ownKeys = await loadSigningKeys(keyStore);
      await ownKeys.follow(listener);
      return {
        revocations,
        keys: ownKeys,
        keyRotation: createKeyRotation({ store: keyStore, keys: ownKeys, rotateAfterDays: 30 }),
        verifier: createTokenVerifier({
          issuer,
          keys: ownKeys,
          revocations,
          personalAccessTokens: personalAccessTokenStore,
          grants: grantStore,
          memberships,
        }),
        async close() {
          revocations.close();
          await own?.close();
        },
      };
    },
    async token(client, form = {}) {
      const body = new URLSearchParams({ grant_type: "client_credentials", ...form });
      const response = await fetch(`${issuer}/oauth2/token`, {
        method: "POST",
        body,
        headers: { authorization: basic(client) },
      });
      const answer = (await response.json()) as { access_token?: string };
      if (answer.access_token === undefined) throw new Error(`no token: ${JSON.stringify(answer)}`);
      return answer.access_token;
    },
    async close() {
      await server.close(0);
      revocations.close();
      await listener.close();
      await database.close();
      await testDatabase.close();
    },
  };
}

/** Inserts a connection with the columns that tokens need, and optionally with its OAuth client. */
export async function insertConnection(
  { database }: Installation,
  account: Account,
  own?: { clientId: string; secretHash: Buffer; scopes: readonly string[] },
): Promise<number> {
  const { rows } = await database.pool.query<{ id: number }>(
    `insert into connection (account_id, id, server_type, name, access_type, configuration, verification_status, oauth_client_id)
     values ($1, nextval('connection_id_seq'), 'mcp', 'a connection', 'write', '{}', 'pending', $2) returning id`,
    [account.id, own?.clientId ?? "none"],
  );
  const id = rows[0]?.id;
  if (id === undefined) throw new Error("no connection was inserted");
  if (own !== undefined) {
    await database.pool.query(
      "insert into oauth_client (account_id, id, connection_id, secret_hash, scopes) values ($1, $2, $3, $4, $5)",
      [account.id, own.clientId, id, own.secretHash, own.scopes],
    );
  }
  return id;
}
