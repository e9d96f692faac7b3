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

/** Tokens from a grant of their own, so that what is done to it touches no other test. */
async function fresh(of: CodeClient = client): Promise<EndpointAnswer["body"]> {
  const own = await logIn(installation, await installation.newAccount());
  const { status, body } = await redeem(installation, of, await getCode(own, of));
  expect(status).toBe(200);
  return body;
}

function countOf(answers: readonly EndpointAnswer[], status: number): number {
  return answers.filter((answer) => answer.status === status).length;
}

describe("a code", () => {
  test("brings an access token, a refresh token and the scopes, in JSON that nobody keeps (RFC 6749 §5.1)", async () => {
    const { status, headers, body } = await redeem(installation, client, await getCode(browser, client));
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(["access_token", "expires_in", "refresh_token", "scope", "token_type"]);
    expect(body).toMatchObject({ token_type: "Bearer", expires_in: 3600, scope: "mcp.read mcp.write" });
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test("brings a token of the person who decided, with the grant's id and no more than was granted", async () => {
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

  test("of a public client needs no secret, and PKCE does what a secret would", async () => {
    const got = await getCode(browser, publicClient);
    expect((await redeem(installation, publicClient, got)).status).toBe(200);
  });

  const cases: Readonly<Record<string, Record<string, string>>> = {
    "with another verifier (RFC 7636 §4.6)": { code_verifier: "x".repeat(43) },
    "with the challenge for a verifier": { code_verifier: "" },
    "for another redirect (RFC 6749 §4.1.3)": { redirect_uri: "https://app.example.com/other" },
    "that nobody issued": { code: "A".repeat(43) },
  };
  test.each(Object.entries(cases))("%s is invalid", async (_title, changes) => {
    const got = await getCode(browser, client);
    const { status, body } = await redeem(installation, client, got, changes);
    expect(status).toBe(400);
    expect(body["error"]).toMatch(/^invalid_(grant|request)$/);
    // What was wrong with it was not its use.
    expect((await redeem(installation, client, got)).status).toBe(200);
  });

  test("of one client is of no use to another (RFC 9700 §4.5)", async () => {
    const other = await insertCodeClient(installation, account);
    const got = await getCode(browser, client);
    const { status, body } = await redeem(installation, { ...other, redirectUri: client.redirectUri }, got);
    expect([status, body["error"]]).toEqual([400, "invalid_grant"]);
  });

  test("expires after a minute", async () => {
    const got = await getCode(browser, client);
    await installation.database.pool.query(
      "update oidc_payload set expires_at = now() where model = 'AuthorizationCode'",
    );
    expect((await redeem(installation, client, got)).body["error"]).toBe("invalid_grant");
  });

  test("lives for 60 seconds and a refresh token for 30 days", async () => {
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

  test("brought again ends everything that was got with it (RFC 6749 §4.1.2)", async () => {
    const own = await logIn(installation, await installation.newAccount());
    const got = await getCode(own, client);
    const { body } = await redeem(installation, client, got);
    expect(await isTokenValid(body.access_token)).toBe(true);
    expect((await redeem(installation, client, got)).body["error"]).toBe("invalid_grant");
    expect(await isTokenValid(body.access_token)).toBe(false);
    expect((await refresh(installation, client, body.refresh_token)).body["error"]).toBe("invalid_grant");
  });

  test(`redeemed ${AT_ONCE} times at once brings tokens exactly once, ${TIMES} times of ${TIMES}`, async () => {
    for (let time = 0; time < TIMES; time++) {
      const got = await getCode(browser, client, { prompt: "consent" });
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => redeem(installation, client, got)));
      expect([countOf(answers, 200), countOf(answers, 400)]).toEqual([1, AT_ONCE - 1]);
    }
  });
});

describe("a refresh token", () => {
  test("is replaced at every use, and each brings a working access token (RFC 9700 §4.14.2)", async () => {
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

  test("used again ends the whole grant: the thief's tokens and the owner's", async () => {
    const first = await fresh();
    const second = (await refresh(installation, client, first.refresh_token)).body;
    expect((await refresh(installation, client, first.refresh_token)).body["error"]).toBe("invalid_grant");
    expect((await refresh(installation, client, second.refresh_token)).body["error"]).toBe("invalid_grant");
    expect([await isTokenValid(first.access_token), await isTokenValid(second.access_token)]).toEqual([false, false]);
  });

  test(`used ${AT_ONCE} times at once is replaced exactly once, ${TIMES} times of ${TIMES}`, async () => {
    for (let time = 0; time < TIMES; time++) {
      const { refresh_token: token } = await fresh();
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => refresh(installation, client, token)));
      expect([countOf(answers, 200), countOf(answers, 400)]).toEqual([1, AT_ONCE - 1]);
    }
  }, 60_000);

  test("may ask for less, and never for more (RFC 6749 §6)", async () => {
    const { refresh_token: token } = await fresh();
    const more = await refresh(installation, client, token, { scope: "mcp.read mgmt.write" });
    expect([more.status, more.body["error"]]).toEqual([400, "invalid_scope"]);
    const less = await refresh(installation, client, token, { scope: "mcp.read" });
    expect(less.body["scope"]).toBe("mcp.read");
    const again = await refresh(installation, client, less.body.refresh_token);
    expect(again.body["scope"]).toBe("mcp.read mcp.write");
  });

  test("of one client is of no use to another", async () => {
    const { refresh_token: token } = await fresh();
    const { status, body } = await refresh(installation, await insertCodeClient(installation, account), token);
    expect([status, body["error"]]).toEqual([400, "invalid_grant"]);
    expect((await refresh(installation, client, token)).status).toBe(200);
  });

  test("of a public client is rotated too", async () => {
    const { refresh_token: token } = await fresh(publicClient);
    expect((await refresh(installation, publicClient, token)).status).toBe(200);
    expect((await refresh(installation, publicClient, token)).body["error"]).toBe("invalid_grant");
  });

  test("is refused once the account is disabled, the client revoked or the grant taken back", async () => {
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

  test("brings less once the client may have less, and nothing when nothing is left", async () => {
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

describe("the audience of a code's tokens (RFC 8707, DESIGN §6)", () => {
  test.each([
    ["nothing", undefined, ""],
    ["the origin", "", ""],
    ["the origin with a slash", "/", ""],
    ["the runtime", "/mcp", "/mcp"],
  ])("asked for %s", async (_title, asked, expected) => {
    const { issuer } = installation;
    const resource = asked === undefined ? undefined : issuer + asked;
    const got = await getCode(browser, client, { resource });
    const answer = await redeem(installation, client, got, resource === undefined ? {} : { resource });
    expect(decodeJwt(String(answer.body.access_token)).aud).toBe(issuer + expected);
    const later = await refresh(installation, client, answer.body.refresh_token);
    expect(decodeJwt(String(later.body.access_token)).aud).toBe(issuer + expected);
  });

  test("cannot be changed when the code or the refresh token is used", async () => {
    const { issuer } = installation;
    for (const resource of [issuer, `${issuer}/mcp/7`, "https://elsewhere.example"]) {
      const got = await getCode(browser, client, { resource: `${issuer}/mcp`, prompt: "consent" });
      const { status, body } = await redeem(installation, client, got, { resource });
      expect([status, body["error"]]).toEqual([400, "invalid_target"]);
    }
  });
});

describe("a client cannot", () => {
  test("use a grant type that it was not given (RFC 6749 §5.2)", async () => {
    const plain = await installation.clients.create(account, "mcp.read");
    const answer = await postAs(installation, { ...plain, redirectUri: "" }, "/oauth2/token", {
      grant_type: "refresh_token",
      refresh_token: "x",
    });
    expect([answer.status, answer.body["error"]]).toEqual([400, "unauthorized_client"]);
  });

  test("get client credentials without a secret or a key", async () => {
    const answer = await postAs(installation, publicClient, "/oauth2/token", { grant_type: "client_credentials" });
    expect(answer.status).toBe(400);
    expect(answer.body).not.toHaveProperty("access_token");
  });

  test("leave out what the grant needs", async () => {
    for (const form of [{ grant_type: "authorization_code" }, { grant_type: "refresh_token" }]) {
      const answer = await postAs(installation, client, "/oauth2/token", form);
      expect([answer.status, answer.body["error"]]).toEqual([400, "invalid_request"]);
    }
  });

  test("be told by HTML what is wrong, whatever it accepts", async () => {
    const form = { grant_type: "authorization_code", code: "x", redirect_uri: client.redirectUri, code_verifier: "x" };
    const answer = await postAs(installation, client, "/oauth2/token", form, { accept: "text/html" });
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.body["error"]).toMatch(/^invalid_/);
  });
});

test("neither a code nor a refresh token nor whose they are stands in the database", async () => {
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

test("stores nothing for a request without a decision", async () => {
  await installation.database.pool.query("delete from oidc_payload");
  await browser.get(attempt(client, { prompt: "consent" }).path);
  await fetch(installation.issuer + attempt(client).path, { redirect: "manual" });
  expect((await installation.database.pool.query("select from oidc_payload")).rowCount).toBe(0);
});
