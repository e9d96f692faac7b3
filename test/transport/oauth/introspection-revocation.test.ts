import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Account } from "../../../src/identity/account.ts";
import { hashSecret } from "../../../src/identity/hash-secret.ts";
import { until } from "../../support/until.ts";
import {
  type CodeClient,
  type EndpointAnswer,
  getCode,
  insertCodeClient,
  logIn,
  postAs,
  redeem,
  refresh,
} from "./code-flow.ts";
import { insertConnection, type Installation, startInstallation } from "./installation.ts";

let installation: Installation;
let account: Account;
let client: CodeClient;
let publicClient: CodeClient;

beforeAll(async () => {
  installation = await startInstallation();
  account = await installation.newAccount();
  client = await insertCodeClient(installation, account);
  publicClient = await insertCodeClient(installation, account, { method: "none" });
});
afterAll(() => installation.close());

function introspect(token: unknown, by = client, more: Readonly<Record<string, string>> = {}): Promise<EndpointAnswer> {
  return postAs(installation, by, "/oauth2/introspect", { token: String(token), ...more });
}

function revoke(token: unknown, by = client, more: Readonly<Record<string, string>> = {}): Promise<EndpointAnswer> {
  return postAs(installation, by, "/oauth2/revoke", { token: String(token), ...more });
}

/** Returns tokens of a new grant of another account. */
async function tokens(of = client): Promise<Record<string, unknown>> {
  const browser = await logIn(installation, await installation.newAccount());
  return (await redeem(installation, of, await getCode(browser, of))).body;
}

const INACTIVE = { active: false };

describe("introspection (RFC 7662)", () => {
  test("returns the claims of an access token to the client that owns it", async () => {
    const { access_token: token } = await tokens();
    const { status, headers, body } = await introspect(token);
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toMatchObject({
      ...{ active: true, token_type: "Bearer", client_id: client.clientId, iss: installation.issuer },
      ...{ aud: installation.issuer, scope: "mcp.read mcp.write" },
    });
    expect(body["grant_id"]).toMatch(/^grant_/);
    expect(Number(body["exp"]) - Number(body["iat"])).toBe(3_600);
  });

  test("returns the state of a refresh token for every token_type_hint", async () => {
    const { refresh_token: token } = await tokens();
    for (const hint of ["refresh_token", "access_token", "something"]) {
      const { body } = await introspect(token, client, { token_type_hint: hint });
      expect(body).toMatchObject({ active: true, client_id: client.clientId, scope: "mcp.read mcp.write" });
    }
  });

  test("returns the state of a personal access token to a client of the same account", async () => {
    const request = { scope: "mgmt.read", name: "", connectionId: undefined, expiresInDays: undefined };
    const { token, id } = await installation.personalAccessTokens.create(account, request);
    const { body } = await introspect(token);
    expect(body).toMatchObject({ active: true, sub: account.id, jti: id, scope: "mgmt.read" });
    expect(body).not.toHaveProperty("exp");
  });

  test("returns the state of an access token to another client of the same account", async () => {
    const other = await installation.clients.create(account, "mgmt.read");
    expect((await introspect(await installation.token(other))).body).toMatchObject({ client_id: other.clientId });
  });

  test("reports the tokens of another account as inactive", async () => {
    const stranger = await insertCodeClient(installation, await installation.newAccount());
    const { access_token: access, refresh_token: refreshToken } = await tokens();
    expect((await introspect(access, stranger)).body).toEqual(INACTIVE);
    expect((await introspect(refreshToken, stranger)).body).toEqual(INACTIVE);
  });

  test("reports to the client of a connection only the tokens of that client", async () => {
    const secret = "a-secret-that-somebody-chose-for-it-1";
    const own = { clientId: "own_client_1", clientSecret: secret, redirectUri: "" };
    const secretHash = hashSecret(installation.pepper, secret);
    await insertConnection(installation, account, { clientId: own.clientId, secretHash, scopes: ["mcp.read"] });
    const other = await installation.clients.create(account, "mgmt.read");
    expect((await introspect(await installation.token(own), own)).body).toMatchObject({ active: true });
    expect((await introspect(await installation.token(other), own)).body).toEqual(INACTIVE);
  });

  test.each(["", "x", "a.b.c", "x".repeat(10_000), "eyJhbGciOiJub25lIn0.e30."])(
    "reports the invalid token %j as inactive",
    async (text) => {
      const { status, body } = await introspect(text || "none");
      expect([status, body]).toEqual([200, INACTIVE]);
    },
  );

  test("reports a used, revoked or expired token as inactive without further members", async () => {
    const { refresh_token: used } = await tokens();
    const { refresh_token: next } = (await refresh(installation, client, used)).body;
    expect((await introspect(used)).body).toEqual(INACTIVE);
    await installation.database.pool.query("update oidc_payload set expires_at = now() where model = 'RefreshToken'");
    expect((await introspect(next)).body).toEqual(INACTIVE);
  });

  test("rejects public clients, requests without credentials and requests without a token", async () => {
    const { access_token: token } = await tokens(publicClient);
    expect((await introspect(token, publicClient)).status).toBe(401);
    expect((await fetch(`${installation.issuer}/oauth2/introspect`, { method: "POST" })).status).toBe(401);
    const empty = await postAs(installation, client, "/oauth2/introspect", {});
    expect([empty.status, empty.body["error"]]).toEqual([400, "invalid_request"]);
  });
});

describe("revocation (RFC 7009)", () => {
  test("revoking an access token invalidates only that token and keeps the grant", async () => {
    const { access_token: access, refresh_token: refreshToken } = await tokens();
    expect((await revoke(access)).status).toBe(200);
    await until(async () => (await introspect(access)).body["active"] === false);
    expect((await refresh(installation, client, refreshToken)).status).toBe(200);
  });

  test("revoking a refresh token revokes the grant with all its tokens (§2.1)", async () => {
    const { access_token: access, refresh_token: refreshToken } = await tokens();
    expect((await revoke(refreshToken)).status).toBe(200);
    expect((await refresh(installation, client, refreshToken)).body["error"]).toBe("invalid_grant");
    expect((await introspect(access)).body).toEqual(INACTIVE);
  });

  test("lets a public client revoke its tokens", async () => {
    const { refresh_token: token } = await tokens(publicClient);
    expect((await revoke(token, publicClient)).status).toBe(200);
    expect((await refresh(installation, publicClient, token)).body["error"]).toBe("invalid_grant");
  });

  test("rejects the revocation of a token of another client and keeps that token valid (§2.1)", async () => {
    const { access_token: access, refresh_token: refreshToken } = await tokens();
    const stranger = await insertCodeClient(installation, await installation.newAccount());
    for (const token of [access, refreshToken]) {
      const { status, body } = await revoke(token, stranger);
      expect([status, body["error"]]).toEqual([400, "invalid_request"]);
    }
    expect((await introspect(access)).body).toMatchObject({ active: true });
    expect((await refresh(installation, client, refreshToken)).status).toBe(200);
  });

  test("returns 200 for an unknown token and for a token that is already revoked (§2.2)", async () => {
    const { refresh_token: token } = await tokens();
    for (const text of ["none", token, token]) expect((await revoke(text)).status).toBe(200);
  });

  test("requires a client, a token and POST, and ignores an unknown token_type_hint", async () => {
    expect((await fetch(`${installation.issuer}/oauth2/revoke`, { method: "POST" })).status).toBe(401);
    expect((await postAs(installation, client, "/oauth2/revoke", {})).status).toBe(400);
    expect((await revoke("none", client, { token_type_hint: "something" })).status).toBe(200);
    const read = await fetch(`${installation.issuer}/oauth2/revoke`);
    expect([read.status, read.headers.get("allow")]).toEqual([405, "POST"]);
  });
});
