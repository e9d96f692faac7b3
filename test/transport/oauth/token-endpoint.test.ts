import { decodeJwt, decodeProtectedHeader, createRemoteJWKSet, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Account } from "../../../src/identity/account.ts";
import type { CreatedClient } from "../../../src/identity/clients/clients.ts";
import { hashSecret } from "../../../src/identity/hash-secret.ts";
import { askToken, type Answer, FORM, grant } from "./ask-token.ts";
import { basic, insertConnection, type Installation, startInstallation } from "./installation.ts";

let installation: Installation;
let account: Account;
let client: CreatedClient;

beforeAll(async () => {
  installation = await startInstallation();
  account = await installation.newAccount(true);
  client = await installation.clients.create(account, "mgmt.read mgmt.write mcp.read");
});
afterAll(() => installation.close());

function ask(form: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return askToken(installation, client, form, headers);
}

describe("successful token requests", () => {
  test("returns exactly the response members that the specification defines", async () => {
    const { status, headers, body } = await ask(grant("&scope=mgmt.read+mgmt.write"));
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(["access_token", "token_type", "expires_in", "scope"]);
    expect(body).toMatchObject({ token_type: "Bearer", expires_in: 3600, scope: "mgmt.read mgmt.write" });
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test("issues an ES256 at+jwt with exactly the claims that the specification and the design define", async () => {
    const { body } = await ask(grant("&scope=mgmt.read"));
    const token = String(body.access_token);
    expect(decodeProtectedHeader(token)).toEqual({ alg: "ES256", typ: "at+jwt", kid: expect.any(String) as string });
    const claims = decodeJwt(token);
    expect(claims).toEqual({
      iss: installation.issuer,
      aud: installation.issuer,
      sub: account.id,
      client_id: client.clientId,
      scopes: ["mgmt.read"],
      scope: "mgmt.read",
      token_use: "access",
      token_type: "oauth",
      iat: expect.any(Number) as number,
      exp: Number(claims.iat) + 3600,
      jti: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/) as string,
    });
  });

  test("issues a token that verifies against the published keys that the metadata names", async () => {
    const metadata = (await (
      await fetch(`${installation.issuer}/.well-known/oauth-authorization-server`)
    ).json()) as Record<string, string>;
    expect(metadata).toMatchObject({
      issuer: installation.issuer,
      token_endpoint: `${installation.issuer}/oauth2/token`,
    });
    const keys = createRemoteJWKSet(new URL(String(metadata.jwks_uri)));
    const token = String((await ask(grant())).body.access_token);
    const { payload } = await jwtVerify(token, keys, { issuer: installation.issuer, audience: installation.issuer });
    expect(payload.sub).toBe(account.id);
  });

  test("grants and returns all scopes of the client when the request names none", async () => {
    for (const form of [grant(), grant("&scope=")]) {
      const { status, body } = await ask(form);
      expect(status).toBe(200);
      expect(body.scope).toBe("mgmt.read mgmt.write mcp.read");
    }
  });

  test("issues a token with fewer scopes to a client of an administrator on request", async () => {
    const admin = await installation.clients.create(account, "mgmt.admin");
    const { body } = await ask(grant("&scope=mgmt.read"), { authorization: basic(admin) });
    expect(body.scope).toBe("mgmt.read");
  });

  test("sets the audience to the requested resource", async () => {
    const { issuer } = installation;
    for (const [resource, audience] of [
      [issuer, issuer],
      [`${issuer}/`, issuer],
      [`${issuer}/mcp`, `${issuer}/mcp`],
      [`${issuer}/mcp/7`, `${issuer}/mcp/7`],
      [`${issuer}/sse`, `${issuer}/sse`],
      [`${issuer}/sse/7`, `${issuer}/sse/7`],
    ]) {
      const { body } = await ask(grant(`&resource=${encodeURIComponent(String(resource))}`));
      expect(decodeJwt(String(body.access_token)).aud).toBe(audience);
    }
  });

  test("accepts form-encoded Basic credentials, an Origin header and an Accept header that prefers HTML", async () => {
    const encoded = { clientId: client.clientId.replace("_", "%5F"), clientSecret: client.clientSecret };
    const { status, headers } = await ask(grant(), {
      authorization: basic(encoded),
      origin: "https://evil.example",
      accept: "text/html",
    });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(headers.get("access-control-allow-origin")).toBeNull();
  });

  test("binds the tokens of a connection's OAuth client to that connection", async () => {
    const own = { clientId: "own_client", clientSecret: "a-secret-that-somebody-chose-for-it-0" };
    const secretHash = hashSecret(installation.pepper, own.clientSecret);
    const id = await insertConnection(installation, account, {
      clientId: own.clientId,
      secretHash,
      scopes: ["mcp.read"],
    });
    const { body } = await ask(grant(), { authorization: basic(own) });
    expect(body.scope).toBe("mcp.read");
    expect(decodeJwt(String(body.access_token)).mcp_server_id).toBe(id);
    const foreign = await ask(grant(`&resource=${installation.issuer}/mcp/${id + 1}`), { authorization: basic(own) });
    expect(foreign.body.error).toBe("invalid_target");
    await installation.database.pool.query("delete from connection where id = $1", [id]);
    expect((await ask(grant(), { authorization: basic(own) })).body.error).toBe("invalid_client");
  });
});

describe("client authentication at the token endpoint", () => {
  const encode = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
  const cases: Readonly<Record<string, () => string>> = {
    "another scheme": () => "Bearer x",
    "no base64": () => "Basic %%%",
    "broken base64": () => "Basic YTpi=YQ",
    "no colon": () => encode("abc"),
    "no secret": () => encode(`${client.clientId}:`),
    "no client": () => encode(`:${client.clientSecret}`),
    "an unknown client": () => encode("nobody:nothing"),
    "a wrong secret": () => encode(`${client.clientId}:wrong`),
    "a secret in upper case": () => encode(`${client.clientId}:${client.clientSecret.toUpperCase()}`),
    "a broken percent-encoding": () => encode(`${client.clientId}:%zz`),
    "a NUL in the client id": () => encode(`${client.clientId}\0:${client.clientSecret}`),
    "an encoded NUL in the client id": () => encode(`%00:${client.clientSecret}`),
    "the stored hash of the secret": () =>
      encode(`${client.clientId}:${hashSecret(installation.pepper, client.clientSecret).toString("base64url")}`),
    "a credential of 5,000 characters": () => encode("a".repeat(5_000) + ":b"),
  };
  for (const [name, authorization] of Object.entries(cases)) {
    test(`returns 401 invalid_client and a Basic challenge for ${name}`, async () => {
      const { status, headers, body } = await ask(grant(), { authorization: authorization() });
      expect(status).toBe(401);
      expect(headers.get("www-authenticate")).toMatch(/^Basic /);
      expect(body).toEqual({ error: "invalid_client", error_description: expect.any(String) as string });
    });
  }

  test("returns 401 and a Basic challenge for missing credentials and for credentials in the form", async () => {
    for (const body of [grant(), `${grant()}&client_id=${client.clientId}&client_secret=${client.clientSecret}`]) {
      const response = await fetch(`${installation.issuer}/oauth2/token`, {
        method: "POST",
        body,
        headers: { "content-type": FORM },
      });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toMatch(/^Basic /);
    }
  });

  test("rejects a revoked client and every client of a disabled account", async () => {
    const other = await installation.newAccount();
    const [first, second] = [
      await installation.clients.create(other, "mgmt.read"),
      await installation.clients.create(other, "mgmt.read"),
    ];
    await installation.clients.revoke(first.clientId);
    expect((await ask(grant(), { authorization: basic(first) })).body.error).toBe("invalid_client");
    expect((await ask(grant(), { authorization: basic(second) })).status).toBe(200);
    await installation.accounts.disable(other.email);
    expect((await ask(grant(), { authorization: basic(second) })).body.error).toBe("invalid_client");
  });
});

test("rate limits only the client whose secret is guessed", async () => {
  const [victim, other] = [
    await installation.clients.create(account, "mgmt.read"),
    await installation.clients.create(account, "mgmt.read"),
  ];
  const wrong = { authorization: basic({ ...victim, clientSecret: "guess" }) };
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 65; attempt++) statuses.push((await ask(grant(), wrong)).status);
  expect(statuses.slice(0, 60).every((status) => status === 401)).toBe(true);
  expect(statuses.slice(60).every((status) => status === 429)).toBe(true);
  const { headers, body } = await ask(grant(), wrong);
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  expect(body).toEqual({ error: "temporarily_unavailable", error_description: expect.any(String) as string });
  expect((await ask(grant(), { authorization: basic(other) })).status).toBe(200);
});

test("the database contains no client secret or private signing key in plain text", async () => {
  const tables = ["oauth_client", "signing_key", "oidc_payload", "personal_access_token", "account", "installation"];
  for (const table of tables) {
    const { rows } = await installation.database.pool.query<{ text: string }>(
      `select coalesce(string_agg(t::text, ' '), '') as text from ${table} t`,
    );
    const text = rows[0]?.text ?? "";
    expect(text).not.toContain(client.clientSecret);
    expect(text).not.toContain(Buffer.from(client.clientSecret).toString("hex"));
    expect(text).not.toContain(String(installation.keys.current("access_token").privateJwk.d));
  }
});

test("the published keys contain no private members", async () => {
  const { keys } = (await (await fetch(`${installation.issuer}/.well-known/jwks.json`)).json()) as {
    keys: Record<string, unknown>[];
  };
  expect(keys).toHaveLength(4);
  for (const key of keys) expect(Object.keys(key).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"]);
});
