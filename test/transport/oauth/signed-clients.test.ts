import { randomUUID } from "node:crypto";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Account } from "../../../src/identity/account.ts";
import { type CodeClient, type EndpointAnswer, getCode, insertCodeClient, logIn, postAs, redeem } from "./code-flow.ts";
import { type DocumentHost, startDocumentHost } from "./document-host.ts";
import { basic, type Installation, startInstallation } from "./installation.ts";

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

let host: DocumentHost;
let installation: Installation;
let account: Account;
let client: CodeClient;
let pair: KeyPair;
let publicJwk: JWK;

beforeAll(async () => {
  host = await startDocumentHost();
  installation = await startInstallation({ dispatcher: host.dispatcher });
  account = await installation.newAccount();
  pair = await generateKeyPair("ES256", { extractable: true });
  publicJwk = { ...(await exportJWK(pair.publicKey)), kid: "k1", alg: "ES256", use: "sig" };
  const jwks = { keys: [publicJwk] } as { keys: Record<string, string>[] };
  client = await insertCodeClient(installation, account, { method: "private_key_jwt", jwks });
});
afterAll(async () => {
  await installation.close();
  await host.close();
});

interface Wish {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly key?: KeyPair["privateKey"];
  readonly header?: Readonly<Record<string, string>>;
  readonly of?: CodeClient;
}

/** Signs a client assertion (RFC 7523 §3) with the given changes; undefined omits a claim. */
function assertion({ claims = {}, key = pair.privateKey, header = {}, of = client }: Wish = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  const { issuer } = installation;
  const all = {
    iss: of.clientId,
    sub: of.clientId,
    aud: issuer,
    jti: randomUUID(),
    iat: now,
    exp: now + 60,
    ...claims,
  };
  return new SignJWT(JSON.parse(JSON.stringify(all)) as Record<string, unknown>)
    .setProtectedHeader({ alg: "ES256", kid: "k1", ...header })
    .sign(key);
}

const TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

function ask(text: string, more: Readonly<Record<string, string>> = {}, of = client): Promise<EndpointAnswer> {
  const form = { grant_type: "client_credentials", client_assertion: text, client_assertion_type: TYPE, ...more };
  return postAs(installation, of, "/oauth2/token", form);
}

test.each(["", "/oauth2/token"])(
  "a client authenticates with a signed assertion whose audience is the issuer%s",
  async (path) => {
    const text = await assertion({ claims: { aud: installation.issuer + path } });
    const { status, body } = await ask(text, { scope: "mgmt.read" });
    expect(status).toBe(200);
    expect(body).toMatchObject({ scope: "mgmt.read", token_type: "Bearer" });
  },
);

test("a client that authenticates with private_key_jwt redeems a code", async () => {
  const got = await getCode(await logIn(installation, account), client);
  const signed = { client_assertion: await assertion(), client_assertion_type: TYPE };
  expect((await redeem(installation, client, got, signed)).status).toBe(200);
});

describe("client assertions (RFC 7523 §3)", () => {
  const now = (): number => Math.floor(Date.now() / 1_000);
  const cases: Readonly<Record<string, () => Promise<string>>> = {
    "that has expired": () => assertion({ claims: { exp: now() - 60, iat: now() - 120 } }),
    "without an expiry": () => assertion({ claims: { exp: undefined } }),
    "for another server": () => assertion({ claims: { aud: "https://elsewhere.example" } }),
    "without an audience": () => assertion({ claims: { aud: undefined } }),
    "from another issuer": () => assertion({ claims: { iss: "somebody" } }),
    "without a jti claim": () => assertion({ claims: { jti: undefined } }),
    "signed with another key": async () => assertion({ key: (await generateKeyPair("ES256")).privateKey }),
    "signed with another algorithm": async () =>
      assertion({ key: (await generateKeyPair("PS256")).privateKey, header: { alg: "PS256" } }),
    "signed with a secret": async () =>
      new SignJWT({ iss: client.clientId, sub: client.clientId, aud: installation.issuer, jti: "x", exp: now() + 60 })
        .setProtectedHeader({ alg: "HS256" })
        .sign(new TextEncoder().encode(JSON.stringify(publicJwk))),
    "without a signature": async () => `${(await assertion()).split(".").slice(0, 2).join(".")}.`,
    "with a changed signature": async () => `${(await assertion()).slice(0, -4)}AAAA`,
  };
  test.each(Object.entries(cases))("rejects an assertion %s with invalid_client", async (_title, make) => {
    const { status, headers, body } = await ask(await make());
    expect([status, body["error"]]).toEqual([401, "invalid_client"]);
    expect(headers.get("www-authenticate")).toMatch(/^Basic /);
  });
});

test("accepts an assertion exactly once when 12 requests send it concurrently, and rejects later reuse (RFC 7523 §3, jti)", async () => {
  const text = await assertion();
  const answers = await Promise.all(Array.from({ length: 12 }, () => ask(text)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(11);
  expect((await ask(text)).status).toBe(401);
});

test("requires client_assertion_type and rejects an assertion combined with other credentials", async () => {
  const form = { grant_type: "client_credentials", client_assertion: await assertion() };
  expect((await postAs(installation, client, "/oauth2/token", form)).status).toBe(400);
  const other = await installation.clients.create(account, "mgmt.read");
  const both = await postAs(
    installation,
    client,
    "/oauth2/token",
    { ...form, client_assertion_type: TYPE },
    { authorization: basic(other) },
  );
  expect([both.status, both.body["error"]]).toEqual([400, "invalid_request"]);
});

test("rejects a private_key_jwt client without an assertion, and an assertion of a client that uses a secret", async () => {
  const named = await postAs(installation, client, "/oauth2/token", { grant_type: "client_credentials" });
  expect([named.status, named.body["error"]]).toEqual([401, "invalid_client"]);
  const secret = await insertCodeClient(installation, account);
  const text = await assertion({ of: secret });
  const unnamed = { ...secret, clientSecret: undefined };
  expect((await ask(text, {}, unnamed)).body["error"]).toBe("invalid_client");
});

test("fetches the jwks_uri of a client metadata document and verifies assertions with those keys", async () => {
  const clientId = "https://signing.example.com/metadata.json";
  const document: CodeClient = { clientId, clientSecret: undefined, redirectUri: "https://app.example.com/callback" };
  host.publish(clientId, {
    body: {
      client_id: clientId,
      redirect_uris: [document.redirectUri],
      token_endpoint_auth_method: "private_key_jwt",
      jwks_uri: "https://signing.example.com/keys.json",
    },
  });
  host.publish("https://signing.example.com/keys.json", { body: { keys: [publicJwk] } });
  const got = await getCode(await logIn(installation, account), document);
  const unsigned = await redeem(installation, document, got);
  expect([unsigned.status, unsigned.body["error"]]).toEqual([401, "invalid_client"]);
  const signed = { client_assertion: await assertion({ of: document }), client_assertion_type: TYPE };
  expect((await redeem(installation, document, got, signed)).status).toBe(200);
});

test("rate limits failed client assertions of one client", async () => {
  const victim = await insertCodeClient(installation, account, { method: "private_key_jwt", jwks: { keys: [] } });
  const statuses: number[] = [];
  for (let at = 0; at < 62; at++) statuses.push((await ask(await assertion({ of: victim }), {}, victim)).status);
  expect([statuses[0], statuses.at(-1)]).toEqual([401, 429]);
});
