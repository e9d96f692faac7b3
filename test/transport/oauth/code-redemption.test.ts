import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OPERATOR } from "../../../src/identity/actor.ts";
import type { Account } from "../../../src/identity/account.ts";
import {
  attempt,
  type Browser,
  type CodeClient,
  type EndpointAnswer,
  getCode,
  insertCodeClient,
  logIn,
  postAs,
  redeem,
  refresh,
} from "./code-flow.ts";
import { type Installation, startInstallation } from "./installation.ts";

let installation: Installation;
let account: Account;
let client: CodeClient;
let publicClient: CodeClient;
let browser: Browser;

beforeAll(async () => {
  installation = await startInstallation();
  account = await installation.newAccount();
  client = await insertCodeClient(installation, account);
  publicClient = await insertCodeClient(installation, account, { method: "none" });
  browser = await logIn(installation, account);
});
afterAll(() => installation.close());

const TIMES = 20;
const AT_ONCE = 12;

async function isTokenValid(accessToken: unknown): Promise<boolean> {
  const { verifier, issuer } = installation.serverDeps;
  try {
    await verifier.verify(`Bearer ${String(accessToken)}`, [issuer]);
    return true;
  } catch {
    return false;
  }
}

/** Returns tokens of a new grant, so that revoking the grant does not affect other tests. */
async function fresh(of: CodeClient = client): Promise<EndpointAnswer["body"]> {
  const own = await logIn(installation, await installation.newAccount());
  const { status, body } = await redeem(installation, of, await getCode(own, of));
  expect(status).toBe(200);
  return body;
}

function countOf(answers: readonly EndpointAnswer[], status: number): number {
  return answers.filter((answer) => answer.status === status).length;
}

describe("authorization codes", () => {
  test("returns an access token, a refresh token and the scopes as JSON with Cache-Control no-store (RFC 6749 §5.1)", async () => {
    const { status, headers, body } = await redeem(installation, client, await getCode(browser, client));
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(["access_token", "expires_in", "refresh_token", "scope", "token_type"]);
    expect(body).toMatchObject({ token_type: "Bearer", expires_in: 3600, scope: "mcp.read mcp.write" });
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test("issues an access token for the approving account with the grant ID and only the granted scopes", async () => {
    const { body } = await redeem(installation, client, await getCode(browser, client, { scope: "mcp.read" }));
    const [grant] = (await installation.grants.list(account.id)).filter(({ clientId }) => clientId === client.clientId);
    const claims = decodeJwt(String(body.access_token));
    expect(claims).toMatchObject({
      sub: account.id,
      client_id: client.clientId,
      scope: "mcp.read",
      token_type: "oauth",
    });
    expect(claims).not.toHaveProperty("mcp_server_id");
    expect(claims["grant_id"]).toMatch(/^grant_/);
    expect(grant?.lastUsedAt).toBeInstanceOf(Date);
  });

  test("redeems the code of a public client with PKCE and no secret", async () => {
    const got = await getCode(browser, publicClient);
    expect((await redeem(installation, publicClient, got)).status).toBe(200);
  });

  const cases: Readonly<Record<string, Record<string, string>>> = {
    "with another verifier (RFC 7636 §4.6)": { code_verifier: "x".repeat(43) },
    "with the challenge for a verifier": { code_verifier: "" },
    "for another redirect URI (RFC 6749 §4.1.3)": { redirect_uri: "https://app.example.com/other" },
    "that was never issued": { code: "A".repeat(43) },
  };
  test.each(Object.entries(cases))("rejects a code %s", async (_title, changes) => {
    const got = await getCode(browser, client);
    const { status, body } = await redeem(installation, client, got, changes);
    expect(status).toBe(400);
    expect(body["error"]).toMatch(/^invalid_(grant|request)$/);
    // The rejected attempts did not consume the code.
    expect((await redeem(installation, client, got)).status).toBe(200);
  });

  test("rejects a code that was issued to another client (RFC 9700 §4.5)", async () => {
    const other = await insertCodeClient(installation, account);
    const got = await getCode(browser, client);
    const { status, body } = await redeem(installation, { ...other, redirectUri: client.redirectUri }, got);
    expect([status, body["error"]]).toEqual([400, "invalid_grant"]);
  });

  test("rejects an expired code", async () => {
    const got = await getCode(browser, client);
    await installation.database.pool.query(
      "update oidc_payload set expires_at = now() where model = 'AuthorizationCode'",
    );
    expect((await redeem(installation, client, got)).body["error"]).toBe("invalid_grant");
  });

  test("codes expire after 60 seconds and refresh tokens after 30 days", async () => {
    await installation.database.pool.query("delete from oidc_payload");
    const got = await getCode(browser, client);
    await redeem(installation, client, got);
    const { rows } = await installation.database.pool.query<{ model: string; seconds: number }>(
      "select model, round(extract(epoch from expires_at - now()))::int as seconds from oidc_payload order by model",
    );
    expect(rows.map(({ model }) => model)).toEqual(["AuthorizationCode", "RefreshToken"]);
    expect(rows[0]?.seconds).toBeGreaterThan(50);
    expect(rows[0]?.seconds).toBeLessThanOrEqual(60);
    expect(rows[1]?.seconds).toBeGreaterThan(30 * 86_400 - 60);
    expect(rows[1]?.seconds).toBeLessThanOrEqual(30 * 86_400);
  });

  test("a second redemption of a code revokes all tokens issued for the code (RFC 6749 §4.1.2)", async () => {
    const own = await logIn(installation, await installation.newAccount());
    const got = await getCode(own, client);
    const { body } = await redeem(installation, client, got);
    expect(await isTokenValid(body.access_token)).toBe(true);
    expect((await redeem(installation, client, got)).body["error"]).toBe("invalid_grant");
    expect(await isTokenValid(body.access_token)).toBe(false);
    expect((await refresh(installation, client, body.refresh_token)).body["error"]).toBe("invalid_grant");
  });

  test(`exactly one of ${AT_ONCE} concurrent redemptions of a code succeeds, in each of ${TIMES} rounds`, async () => {
    for (let time = 0; time < TIMES; time++) {
      const got = await getCode(browser, client, { prompt: "consent" });
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => redeem(installation, client, got)));
      expect([countOf(answers, 200), countOf(answers, 400)]).toEqual([1, AT_ONCE - 1]);
    }
  });
});

describe("refresh tokens", () => {
  test("rotates the refresh token at every use and returns a valid access token (RFC 9700 §4.14.2)", async () => {
    let body = await fresh();
    for (let use = 0; use < 3; use++) {
      const before = body;
      const answer = await refresh(installation, client, before.refresh_token);
      body = answer.body;
      expect(answer.status).toBe(200);
      expect(body.refresh_token).not.toBe(before.refresh_token);
      expect(await isTokenValid(body.access_token)).toBe(true);
    }
  });

  test("reuse of a rotated refresh token revokes the grant with all its tokens", async () => {
    const first = await fresh();
    const second = (await refresh(installation, client, first.refresh_token)).body;
    expect((await refresh(installation, client, first.refresh_token)).body["error"]).toBe("invalid_grant");
    expect((await refresh(installation, client, second.refresh_token)).body["error"]).toBe("invalid_grant");
    expect([await isTokenValid(first.access_token), await isTokenValid(second.access_token)]).toEqual([false, false]);
  });

  test(`exactly one of ${AT_ONCE} concurrent uses of a refresh token succeeds, in each of ${TIMES} rounds`, async () => {
    for (let time = 0; time < TIMES; time++) {
      const { refresh_token: token } = await fresh();
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => refresh(installation, client, token)));
      expect([countOf(answers, 200), countOf(answers, 400)]).toEqual([1, AT_ONCE - 1]);
    }
  }, 60_000);

  test("accepts a narrower scope and rejects a wider scope (RFC 6749 §6)", async () => {
    const { refresh_token: token } = await fresh();
    const more = await refresh(installation, client, token, { scope: "mcp.read mgmt.write" });
    expect([more.status, more.body["error"]]).toEqual([400, "invalid_scope"]);
    const less = await refresh(installation, client, token, { scope: "mcp.read" });
    expect(less.body["scope"]).toBe("mcp.read");
    const again = await refresh(installation, client, less.body.refresh_token);
    expect(again.body["scope"]).toBe("mcp.read mcp.write");
  });

  test("rejects a refresh token that was issued to another client", async () => {
    const { refresh_token: token } = await fresh();
    const { status, body } = await refresh(installation, await insertCodeClient(installation, account), token);
    expect([status, body["error"]]).toEqual([400, "invalid_grant"]);
    expect((await refresh(installation, client, token)).status).toBe(200);
  });

  test("rotates the refresh token of a public client", async () => {
    const { refresh_token: token } = await fresh(publicClient);
    expect((await refresh(installation, publicClient, token)).status).toBe(200);
    expect((await refresh(installation, publicClient, token)).body["error"]).toBe("invalid_grant");
  });

  test("rejects a refresh token after the account is disabled, the client revoked or the grant revoked", async () => {
    const owner = await installation.newAccount();
    const own = await logIn(installation, owner);
    const revocable = await insertCodeClient(installation, account);
    const tokens = async (of: CodeClient) => (await redeem(installation, of, await getCode(own, of))).body;
    const [byGrant, byClient, byAccount] = [await tokens(publicClient), await tokens(revocable), await tokens(client)];
    const [grant] = (await installation.grants.list(owner.id)).filter(
      ({ clientId }) => clientId === publicClient.clientId,
    );
    await installation.grants.revoke(owner.id, String(grant?.id), OPERATOR);
    expect((await refresh(installation, publicClient, byGrant.refresh_token)).body["error"]).toBe("invalid_grant");
    await installation.clients.revoke(revocable.clientId);
    expect((await refresh(installation, revocable, byClient.refresh_token)).body["error"]).toBe("invalid_client");
    await installation.accounts.disable(owner.id);
    expect((await refresh(installation, client, byAccount.refresh_token)).body["error"]).toBe("invalid_grant");
  });

  test("limits the scopes to those the client is still allowed to request, and fails when no scope remains", async () => {
    const narrowing = await insertCodeClient(installation, account);
    const own = await logIn(installation, await installation.newAccount());
    const { body } = await redeem(installation, narrowing, await getCode(own, narrowing));
    const setScopes = (scopes: readonly string[]) =>
      installation.database.pool.query("update oauth_client set scopes = $2 where id = $1", [
        narrowing.clientId,
        scopes,
      ]);
    await setScopes(["mcp.read"]);
    const less = await refresh(installation, narrowing, body.refresh_token);
    expect(decodeJwt(String(less.body.access_token))["scopes"]).toEqual(["mcp.read"]);
    await setScopes(["mgmt.read"]);
    const none = await refresh(installation, narrowing, less.body.refresh_token);
    expect([none.status, none.body["error"]]).toEqual([400, "invalid_scope"]);
  });
});

describe("audience of tokens from a code (RFC 8707, DESIGN §6)", () => {
  test.each([
    ["nothing", undefined, ""],
    ["the origin", "", ""],
    ["the origin with a slash", "/", ""],
    ["the runtime", "/mcp", "/mcp"],
  ])("uses the requested resource as the audience when the client requests %s", async (_title, asked, expected) => {
    const { issuer } = installation;
    const resource = asked === undefined ? undefined : issuer + asked;
    const got = await getCode(browser, client, { resource });
    const answer = await redeem(installation, client, got, resource === undefined ? {} : { resource });
    expect(decodeJwt(String(answer.body.access_token)).aud).toBe(issuer + expected);
    const later = await refresh(installation, client, answer.body.refresh_token);
    expect(decodeJwt(String(later.body.access_token)).aud).toBe(issuer + expected);
  });

  test("rejects a token request for a resource other than that of the code", async () => {
    const { issuer } = installation;
    for (const resource of [issuer, `${issuer}/mcp/7`, "https://elsewhere.example"]) {
      const got = await getCode(browser, client, { resource: `${issuer}/mcp`, prompt: "consent" });
      const { status, body } = await redeem(installation, client, got, { resource });
      expect([status, body["error"]]).toEqual([400, "invalid_target"]);
    }
  });
});

describe("token endpoint errors", () => {
  test("rejects a grant type that the client is not allowed to use (RFC 6749 §5.2)", async () => {
    const plain = await installation.clients.create(account, "mcp.read");
    const answer = await postAs(installation, { ...plain, redirectUri: "" }, "/oauth2/token", {
      grant_type: "refresh_token",
      refresh_token: "x",
    });
    expect([answer.status, answer.body["error"]]).toEqual([400, "unauthorized_client"]);
  });

  test("rejects client credentials of a client without a secret or a key", async () => {
    const answer = await postAs(installation, publicClient, "/oauth2/token", { grant_type: "client_credentials" });
    expect(answer.status).toBe(400);
    expect(answer.body).not.toHaveProperty("access_token");
  });

  test("rejects a token request without the code or the refresh token", async () => {
    for (const form of [{ grant_type: "authorization_code" }, { grant_type: "refresh_token" }]) {
      const answer = await postAs(installation, client, "/oauth2/token", form);
      expect([answer.status, answer.body["error"]]).toEqual([400, "invalid_request"]);
    }
  });

  test("returns errors as JSON when the client accepts only HTML", async () => {
    const form = { grant_type: "authorization_code", code: "x", redirect_uri: client.redirectUri, code_verifier: "x" };
    const answer = await postAs(installation, client, "/oauth2/token", form, { accept: "text/html" });
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.body["error"]).toMatch(/^invalid_/);
  });
});

test("the database contains no code, refresh token, session cookie or account ID in plain text", async () => {
  const got = await getCode(browser, client);
  const { body } = await redeem(installation, client, got);
  const pending = await getCode(browser, client);
  const { rows } = await installation.database.pool.query<{ text: string }>(
    "select string_agg(t::text, ' ') as text from oidc_payload t",
  );
  for (const secret of [got.code, pending.code, got.verifier, String(body.refresh_token), browser.cookie, account.id]) {
    expect(rows[0]?.text).not.toContain(secret);
  }
});

test("stores nothing for an authorization request before the person decides", async () => {
  await installation.database.pool.query("delete from oidc_payload");
  await browser.get(attempt(client, { prompt: "consent" }).path);
  await fetch(installation.issuer + attempt(client).path, { redirect: "manual" });
  expect((await installation.database.pool.query("select from oidc_payload")).rowCount).toBe(0);
});
