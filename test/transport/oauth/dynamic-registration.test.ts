import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readConfig } from "../../../src/config.ts";
import { type Browser, type CodeClient, getCode, logIn, postAs, redeem, refresh } from "./code-flow.ts";
import { type Installation, startInstallation } from "./installation.ts";

let installation: Installation;
let browser: Browser;

beforeAll(async () => {
  installation = await startInstallation({
    registration: readConfig({ DYNAMIC_REGISTRATION: "app.example.com,cursor:,loopback" }).dynamicRegistration,
  });
  browser = await logIn(installation, await installation.newAccount());
});
afterAll(() => installation.close());

const REDIRECT = "http://127.0.0.1:33418/callback";

async function register(body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${installation.issuer}/oauth2/register`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

function toClient(body: Record<string, unknown>): CodeClient {
  const clientSecret = body["client_secret"];
  return {
    clientId: String(body["client_id"]),
    clientSecret: typeof clientSecret === "string" ? clientSecret : undefined,
    redirectUri: REDIRECT,
  };
}

test("a public client registers itself, receives approval from a person and redeems tokens (RFC 7591)", async () => {
  const { status, headers, body } = await register({
    client_name: "An agent's host",
    redirect_uris: [REDIRECT],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  });
  expect(status).toBe(201);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(body).toMatchObject({ client_name: "An agent's host", token_endpoint_auth_method: "none" });
  expect(body).not.toHaveProperty("client_secret");
  const client = toClient(body);
  const { body: tokens } = await redeem(installation, client, await getCode(browser, client));
  expect((await refresh(installation, client, tokens["refresh_token"])).status).toBe(200);
});

test("returns the secret of a registered client once, stores only its hash and requires it in the Authorization header", async () => {
  const { body } = await register({ redirect_uris: [REDIRECT], token_endpoint_auth_method: "client_secret_post" });
  expect(body).toMatchObject({ token_endpoint_auth_method: "client_secret_basic", client_secret_expires_at: 0 });
  const client = toClient(body);
  const got = await getCode(browser, client);
  const wrong = await redeem(installation, { ...client, clientSecret: "wrong" }, got);
  expect([wrong.status, wrong.body["error"]]).toEqual([401, "invalid_client"]);
  const none = await redeem(installation, { ...client, clientSecret: undefined }, got);
  expect(none.status).toBe(401);
  expect((await redeem(installation, client, got)).status).toBe(200);
  const { rows } = await installation.database.pool.query<{ text: string }>(
    "select string_agg(t::text, ' ') as text from oidc_payload t",
  );
  expect(rows[0]?.text).not.toContain(client.clientSecret);
});

describe("rejected registrations", () => {
  const base = { redirect_uris: [REDIRECT], token_endpoint_auth_method: "none" };
  const cases: readonly (readonly [title: string, body: unknown, status: number, error: string])[] = [
    ["client credentials", { ...base, grant_types: ["client_credentials"] }, 400, "invalid_client_metadata"],
    ["the implicit flow", { ...base, response_types: ["token"] }, 400, "invalid_client_metadata"],
    [
      "a device flow",
      { ...base, grant_types: ["urn:ietf:params:oauth:grant-type:device_code"] },
      400,
      "invalid_client_metadata",
    ],
    ["no redirect URI", { token_endpoint_auth_method: "none" }, 400, "invalid_redirect_uri"],
    [
      "a host that is not in the allow list",
      { ...base, redirect_uris: ["https://evil.example/"] },
      400,
      "invalid_redirect_uri",
    ],
    [
      "an allowed host together with a host that is not allowed",
      { ...base, redirect_uris: [REDIRECT, "https://evil.example/"] },
      400,
      "invalid_redirect_uri",
    ],
    ["http to an allowed host", { ...base, redirect_uris: ["http://app.example.com/"] }, 400, "invalid_redirect_uri"],
    [
      "a named host's neighbor",
      { ...base, redirect_uris: ["https://app.example.com.evil.example/"] },
      400,
      "invalid_redirect_uri",
    ],
    ["a scheme that is not in the allow list", { ...base, redirect_uris: ["other://x"] }, 400, "invalid_redirect_uri"],
    ["a script", { ...base, redirect_uris: ["javascript:alert(1)"] }, 400, "invalid_redirect_uri"],
    ["a fragment", { ...base, redirect_uris: [`${REDIRECT}#x`] }, 400, "invalid_redirect_uri"],
    ["a redirect URI that is not a string", { ...base, redirect_uris: [1] }, 400, "invalid_redirect_uri"],
    ["21 redirect URIs", { ...base, redirect_uris: Array(21).fill(REDIRECT) }, 400, "invalid_redirect_uri"],
    [
      "an unsupported authentication method",
      { ...base, token_endpoint_auth_method: "tls_client_auth" },
      400,
      "invalid_client_metadata",
    ],
    [
      "a jwks_uri without https",
      { ...base, token_endpoint_auth_method: "private_key_jwt", jwks_uri: "http://a.example/" },
      400,
      "invalid_client_metadata",
    ],
    ["a JSON array", [], 400, "invalid_client_metadata"],
    ["invalid JSON", "{", 400, "invalid_client_metadata"],
    ["more than 16 KiB", { ...base, client_name: "x".repeat(20_000) }, 413, "invalid_request"],
  ];
  test.each(cases)("rejects a registration with %s", async (_title, body, status, error) => {
    const answer = await register(body);
    expect([answer.status, answer.body["error"]]).toEqual([status, error]);
  });

  test("returns 415 for a form body and 405 for GET at the registration endpoint", async () => {
    expect((await register("a=b", { "content-type": "application/x-www-form-urlencoded" })).status).toBe(415);
    const read = await fetch(`${installation.issuer}/oauth2/register`);
    expect([read.status, read.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

test("a dynamically registered client cannot get mgmt.admin or use client credentials", async () => {
  const client = toClient((await register({ redirect_uris: [REDIRECT] })).body);
  const admin = await logIn(installation, await installation.newAccount(true));
  await expect(getCode(admin, client, { scope: "mgmt.admin" })).rejects.toThrow("invalid_scope");
  const answer = await postAs(installation, client, "/oauth2/token", { grant_type: "client_credentials" });
  expect([answer.status, answer.body["error"]]).toEqual([400, "unauthorized_client"]);
});

test("a registered client expires after 24 hours unless a person approves it", async () => {
  const [approved, other] = [
    toClient((await register({ redirect_uris: [REDIRECT] })).body),
    toClient((await register({ redirect_uris: [REDIRECT] })).body),
  ];
  await getCode(browser, approved);
  const { rows } = await installation.database.pool.query<{ id: string; hours: number | null }>(
    `select id, round(extract(epoch from expires_at - now()) / 3600)::int as hours from oidc_payload
     where model = 'Client' and id = any ($1)`,
    [[approved.clientId, other.clientId]],
  );
  expect(new Map(rows.map(({ id, hours }) => [id, hours]))).toEqual(
    new Map([
      [approved.clientId, null],
      [other.clientId, 24],
    ]),
  );
});

test("DYNAMIC_REGISTRATION=off removes the registration endpoint and its metadata entry", async () => {
  const closed = await startInstallation({
    registration: readConfig({ DYNAMIC_REGISTRATION: "off" }).dynamicRegistration,
  });
  const registration = await fetch(`${closed.issuer}/oauth2/register`, { method: "POST", body: "{}" });
  expect(registration.status).toBe(404);
  const metadata = (await (await fetch(`${closed.issuer}/.well-known/oauth-authorization-server`)).json()) as object;
  expect(metadata).not.toHaveProperty("registration_endpoint");
  await closed.close();
});

test("allows 60 registrations per hour from one address", async () => {
  const own = await startInstallation({
    registration: readConfig({}).dynamicRegistration,
  });
  const statuses: number[] = [];
  let retryAfter: string | null = null;
  for (let at = 0; at < 62; at++) {
    const response = await fetch(`${own.issuer}/oauth2/register`, {
      method: "POST",
      body: JSON.stringify({ redirect_uris: [REDIRECT] }),
      headers: { "content-type": "application/json" },
    });
    statuses.push(response.status);
    retryAfter = response.headers.get("retry-after");
  }
  expect([statuses.filter((status) => status === 201).length, statuses.at(-1)]).toEqual([60, 429]);
  expect(Number(retryAfter)).toBeGreaterThan(0);
  await own.close();
});
