import { randomBytes, randomUUID } from "node:crypto";
import { importJWK, type JWTHeaderParameters, SignJWT } from "jose";
import { pino } from "pino";
import { OPERATOR } from "../../src/identity/actor.ts";
import { type Role, ROLES } from "../../src/identity/organizations/role.ts";
import type { Grants } from "../../src/identity/grants/grants.ts";
import { readConfig } from "../../src/config.ts";
import { openFoundation } from "../../src/app/foundation.ts";

/** All scopes except mgmt.admin. */
export const EVERYDAY_SCOPES = "mgmt.read mgmt.write mcp.read mcp.write";

export interface TestAccount {
  readonly id: string;
  readonly email: string;
  /** A personal access token, reused for equal arguments. */
  token(scope?: string, connectionId?: number): Promise<string>;
  client(scope: string): Promise<{ readonly clientId: string; readonly clientSecret: string }>;
}

export interface TestOrganization {
  readonly id: string;
  add(member: TestAccount, role: Role): Promise<void>;
  /** A new personal access token of a member. */
  token(member: TestAccount, scope?: string): Promise<{ readonly id: string; readonly token: string }>;
  /** A client of the organization itself. */
  client(scope: string): Promise<{ readonly clientId: string; readonly clientSecret: string }>;
}

/** Creates accounts and tokens directly in a service's database, with the code of the command line. */
export interface TestAccounts {
  /** A new account, which may have any scope. */
  create(): Promise<TestAccount>;
  /** Runs SQL on the service's database. */
  query(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  /**
   * Signs an access token with the service's own key. `claims` changes the claims of a valid token; undefined omits a
   * claim.
   */
  forge(
    account: TestAccount,
    claims: Readonly<Record<string, unknown>>,
    header?: Partial<JWTHeaderParameters>,
  ): Promise<string>;
  /** Creates an organization with these members. */
  createOrganization(members: Readonly<Partial<Record<Role, TestAccount>>>): Promise<TestOrganization>;
  readonly grants: Grants;
  close(): Promise<void>;
}

/** Opens the database of a service that runs in `env`. */
export async function openAccounts(env: Readonly<Record<string, string>>): Promise<TestAccounts> {
  const foundation = await openFoundation(readConfig(env), pino({ level: "silent" }), 2);
  const { pool } = foundation.database;
  return {
    async create() {
      const id = `acc_${randomBytes(12).toString("base64url")}`;
      const email = `${id}@example.com`.toLowerCase();
      // Inserts the account directly, because hashing hundreds of passwords takes a minute.
      await pool.query("insert into account (id, email, password_hash, is_admin) values ($1, $2, '', true)", [
        id,
        email,
      ]);
      const account = await foundation.accounts.find(id);
      const tokens = new Map<string, Promise<string>>();
      const issue = async (scope: string, connectionId: number | undefined): Promise<string> => {
        const request = { scope, connectionId, name: "", expiresInDays: undefined };
        return (await foundation.personalAccessTokens.create(account, request)).token;
      };
      return {
        id,
        email,
        token: (scope = EVERYDAY_SCOPES, connectionId) => {
          const key = `${scope}/${String(connectionId)}`;
          const known = tokens.get(key) ?? issue(scope, connectionId);
          tokens.set(key, known);
          return known;
        },
        client: (scope) => foundation.clients.create(account, scope),
      };
    },
    forge: async (account, claims, header = {}) => {
      const key = foundation.keys.current("access_token");
      const issuer = readConfig(env).publicUrl;
      const now = Math.floor(Date.now() / 1000);
      const accepted = {
        ...{ iss: issuer, aud: issuer, sub: account.id, client_id: "client_of_a_test", jti: randomUUID() },
        ...{ token_use: "access", token_type: "oauth", scopes: EVERYDAY_SCOPES.split(" "), iat: now, exp: now + 600 },
      };
      return new SignJWT({ ...accepted, ...claims })
        .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: key.id, ...header })
        .sign(await importJWK(key.privateJwk, "ES256"));
    },
    async createOrganization(members) {
      const id = `org_${randomBytes(12).toString("base64url")}`;
      await pool.query(
        "insert into account (id, kind, email, name, password_hash) values ($1, 'organization', $2, 'Acme', '')",
        [id, `${id}@organization.invalid`],
      );
      const account = await foundation.accounts.find(id);
      for (const role of ROLES) {
        const member = members[role];
        if (member !== undefined) await foundation.memberStore.addMember(id, member.id, role, OPERATOR);
      }
      return {
        id,
        add: async (member, role) => {
          await foundation.memberStore.addMember(id, member.id, role, OPERATOR);
        },
        token: async (member, scope = EVERYDAY_SCOPES) => {
          const request = { scope, connectionId: undefined, memberId: member.id, name: "", expiresInDays: undefined };
          return foundation.personalAccessTokens.create(account, request);
        },
        client: (scope) => foundation.clients.create(account, scope),
      };
    },
    grants: foundation.grants,
    query: async (text, values = []) => (await pool.query<Record<string, unknown>>(text, [...values])).rows,
    close: () => foundation.close(),
  };
}
