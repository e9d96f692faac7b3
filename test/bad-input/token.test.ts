import { generateKeyPair, type JWK, SignJWT, UnsecuredJWT, type JWTPayload } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sendRawRequest } from "../support/raw-request.ts";
import { startTarget, type Target } from "./target.ts";

let target: Target;

beforeAll(async () => {
  target = await startTarget();
});

afterAll(async () => {
  await target?.close();
});

const NOW = Math.floor(Date.now() / 1000);
const COLLECTION = "/api/v1/mcp-servers";

async function publicJwk(): Promise<JWK & { kid: string }> {
  const response = await fetch(`${target.service.url}/.well-known/jwks.json`);
  const { keys } = (await response.json()) as { keys: (JWK & { kid: string })[] };
  const [first] = keys;
  if (first === undefined) throw new Error("the service publishes no key");
  return first;
}

async function claims(): Promise<JWTPayload> {
  const { url } = target.service;
  return {
    iss: url,
    aud: url,
    sub: target.account.id,
    client_id: "c",
    jti: "j",
    token_use: "access",
    token_type: "oauth",
    scopes: ["mgmt.read"],
    iat: NOW,
    exp: NOW + 600,
  };
}

const forge = (changed: Readonly<Record<string, unknown>>, header = {}): Promise<string> =>
  target.accounts.forge(target.account, changed, header);

test("accepts a correct token signed with the service's key, so the following tokens fail only for their defect", async () => {
  const answer = await target.send({
    method: "GET",
    path: COLLECTION,
    headers: ["authorization", `Bearer ${await forge({})}`],
  });
  expect(answer.status).toBe(200);
});

/** Tokens that look valid but are not. */
const BAD: readonly [string, () => Promise<string>][] = [
  ["expired", () => forge({ iat: NOW - 7200, exp: NOW - 1 })],
  ["without an expiry time", () => forge({ exp: undefined })],
  ["issued in the future", () => forge({ iat: NOW + 3600, exp: NOW + 7200 })],
  ["of another issuer", () => forge({ iss: "https://evil.example" })],
  ["for another audience", () => forge({ aud: "https://evil.example" })],
  ["only for the runtime", () => forge({ aud: `${target.service.url}/mcp` })],
  ["for several audiences", () => forge({ aud: [target.service.url, "https://evil.example"] })],
  ["with another token_use", () => forge({ token_use: "id" })],
  ["with another token_type", () => forge({ token_type: "pat" })],
  ["without a token_type", () => forge({ token_type: undefined })],
  ["without an account", () => forge({ sub: undefined })],
  ["without an id", () => forge({ jti: undefined })],
  ["with scopes as a string", () => forge({ scopes: "mgmt.read mgmt.write" })],
  ["with a connection id that is not a number", () => forge({ mcp_server_id: "1" })],
  ["with another typ in the header", () => forge({}, { typ: "JWT" })],
  ["with an unknown key id", () => forge({}, { kid: "nothing" })],
  ["without a key id", () => forge({}, { kid: undefined })],
  ["unsigned", async () => new UnsecuredJWT(await claims()).encode()],
  [
    "signed by another key under the service's key id",
    async () => {
      const { privateKey } = await generateKeyPair("ES256");
      const { kid } = await publicJwk();
      return new SignJWT(await claims()).setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid }).sign(privateKey);
    },
  ],
  [
    "signed by HMAC with the public key",
    async () => {
      const key = await publicJwk();
      const secret = new TextEncoder().encode(JSON.stringify(key));
      return new SignJWT(await claims()).setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: key.kid }).sign(secret);
    },
  ],
  [
    "with its own key in the header",
    async () => {
      const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
      const jwk = await crypto.subtle.exportKey("jwk", publicKey);
      const { kty = "", crv = "", x = "", y = "" } = jwk;
      return new SignJWT(await claims())
        .setProtectedHeader({ alg: "ES256", typ: "at+jwt", jwk: { kty, crv, x, y } })
        .sign(privateKey);
    },
  ],
  ["truncated by one character", async () => (await forge({})).slice(0, -1)],
  ["without its signature", async () => (await forge({})).replace(/[^.]*$/, "")],
  ["without its payload", async () => (await forge({})).replace(/\..*\./, "..")],
  ["with padding at its end", async () => `${await forge({})}==`],
  ["with another payload", async () => tamper(await forge({}))],
  ["repeated twice", async () => `${await forge({})}, ${await forge({})}`],
  ["of 10,000 characters", () => Promise.resolve("a".repeat(10_000))],
  ["that is not a JWT", () => Promise.resolve("null")],
];

function tamper(token: string): string {
  const [header = "", payload = "", signature = ""] = token.split(".");
  const changed = { ...(JSON.parse(Buffer.from(payload, "base64url").toString()) as object), scopes: ["mgmt.admin"] };
  return [header, Buffer.from(JSON.stringify(changed)).toString("base64url"), signature].join(".");
}

test.each(BAD)("refuses a token %s over every protocol", async (name, make) => {
  const authorization = `Bearer ${await make()}`;
  await target.refuses(
    { method: "DELETE", path: `${COLLECTION}/${target.id}`, headers: ["authorization", authorization] },
    401,
    /^Invalid or expired token\.$/,
  );
  const headers = ["authorization", authorization, "content-type", "application/json"];
  const rpc = {
    method: "POST",
    path: "/patchbay.v1.ConnectionService/DeleteConnection",
    headers,
    body: JSON.stringify({ server_id: target.id }),
  };
  await target.refusesConnect(rpc, 401, "unauthenticated");
  const initialize = await target.send({ method: "POST", path: "/mcp/initialize", headers, body: "{}" });
  // A runtime token is accepted here and nowhere else.
  expect(initialize.status).toBe(name === "only for the runtime" ? 200 : 401);
});

test.each(["", "Bearer", "Bearer ", "Basic YTpi", "Token x", "bearer:x", "Bearer a b"])(
  "refuses the Authorization header %j",
  async (authorization) => {
    const answer = await target.send({ method: "GET", path: COLLECTION, headers: ["authorization", authorization] });
    expect(answer.status).toBe(401);
    expect(answer.json).toEqual({
      detail: expect.stringMatching(/^(Authentication credentials were not provided|Invalid or expired token)\.$/),
      code: expect.stringMatching(/^CREDENTIALS_(MISSING|INVALID)$/),
    });
    expect(answer.headers["www-authenticate"]).toMatch(/^Bearer /);
  },
);

test("ignores a token in the query or in a cookie", async () => {
  const query = await sendRawRequest(target.service.url, {
    method: "GET",
    path: `${COLLECTION}?access_token=${target.token}`,
  });
  const cookie = await sendRawRequest(target.service.url, {
    method: "GET",
    path: COLLECTION,
    headers: ["cookie", `access_token=${target.token}`],
  });
  expect([query.status, cookie.status]).toEqual([401, 401]);
});

test("checks credentials before it reads the body", async () => {
  const answer = await sendRawRequest(target.service.url, {
    method: "POST",
    path: COLLECTION,
    headers: ["content-type", "text/plain"],
    body: "x".repeat(3 * 1024 * 1024),
  });
  expect(answer.status).toBe(401);
});
