import { randomBytes } from "node:crypto";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  callbackPathIn,
  callbackPathOf,
  clientDocument,
  clientMetadata,
  documentPathOf,
} from "../../../src/integrations/oauth/client-document.ts";
import { forgetClientIfUnknown } from "../../../src/integrations/oauth/forget-unknown-client.ts";
import { redeemCode } from "../../../src/integrations/oauth/redeem-code.ts";
import type { UpstreamClients } from "../../../src/integrations/oauth/upstream-clients.ts";
import type { AuthorizationTerms } from "../../../src/integrations/authorization.ts";
import type { JsonObject } from "../../../src/json.ts";
import { openDatabase, type Database } from "../../../src/storage/database.ts";
import { createSealer } from "../../../src/storage/sealing.ts";
import { createUpstreamClientStore } from "../../../src/storage/stores/integrations/upstream-client.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import {
  authorize,
  authorizationFor,
  failureOf,
  KNOWN,
  newProof,
  obtain,
  PUBLIC_URL,
  REDIRECT_URI,
  STATIC_CLIENT,
  startSubject,
  type Subject,
  targetOf,
} from "./support.ts";

const OAUTH = "/.well-known/oauth-authorization-server";
const HTTPS = "https://patchbay.example";
const patient = (): AbortSignal => AbortSignal.timeout(20_000);

let testDatabase: TestDatabase;
let database: Database;
let clients: UpstreamClients;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 4 });
  clients = createUpstreamClientStore({
    orm: database.orm,
    sealer: createSealer([{ version: 1, key: randomBytes(32) }]),
  });
});
beforeEach(() => database.pool.query("truncate upstream_client"));
afterAll(async () => {
  await database?.close();
  await testDatabase?.close();
});

function terms(
  subject: Subject,
  configuration: JsonObject = {},
  publicUrl?: string,
  wanted?: string,
): Promise<AuthorizationTerms> {
  const authorization = authorizationFor(subject, clients, publicUrl);
  return authorization.terms(targetOf(subject.upstream, configuration), wanted, patient());
}

/** Changes the vendor's metadata. */
function describe({ upstream: { vendor } }: Subject, changes: JsonObject): void {
  vendor.documents.set(OAUTH, { ...vendor.metadata, ...changes });
}

test("prefers a configured client and registers nothing", async () => {
  const subject = await startSubject();
  expect((await terms(subject, KNOWN)).client).toEqual(STATIC_CLIENT);
  expect((await terms(subject, { oauth_client_id: "public" })).client).toEqual({
    clientId: "public",
    clientSecret: undefined,
    authentication: "none",
    source: "configured",
  });
  describe(subject, { token_endpoint_auth_methods_supported: ["client_secret_post"] });
  expect((await terms(subject, KNOWN)).client.authentication).toBe("client_secret_post");
  expect(subject.upstream.vendor.registrations).toEqual([]);
});

test("registers once if the server supports only dynamic registration, and reuses the client", async () => {
  const subject = await startSubject();
  const first = await terms(subject);
  expect(first.client).toMatchObject({ clientSecret: undefined, authentication: "none", source: "registered" });
  const tokens = await obtain(subject.upstream, first, subject.dispatcher);
  expect(await subject.upstream.vendor.inspect(tokens.accessToken, subject.upstream.url)).toBeDefined();
  expect((await terms(subject)).client).toEqual(first.client);
  expect(subject.upstream.vendor.registrations).toEqual([
    { ...clientMetadata(PUBLIC_URL, first.callbackPath), application_type: "native" },
  ]);
});

test("ignores a registration for the redirect URI that all issuers once shared, and deletes it once expired", async () => {
  const subject = await startSubject();
  const { issuer } = subject.upstream.vendor;
  const old = { ...STATIC_CLIENT, source: "registered" } as const;
  await clients.keep({ issuer, redirectUri: REDIRECT_URI }, old, undefined);
  const { client } = await terms(subject);
  expect(client.clientId).not.toBe(old.clientId);
  await database.pool.query("update upstream_client set expires_at = now()");
  await terms(subject);
  const { rows } = await database.pool.query("select from upstream_client");
  expect(rows).toHaveLength(1);
});

test("concurrent registrations result in one client", async () => {
  const subject = await startSubject();
  const found = await Promise.all([terms(subject), terms(subject), terms(subject)]);
  const last = await terms(subject);
  expect(new Set(found.map(({ client }) => client.clientId)).size).toBe(1);
  expect(last.client).toEqual(found[0]?.client);
});

test.each(["client_secret_basic", "client_secret_post"])(
  "uses the secret of a server without public clients, sent by %s",
  async (method) => {
    const subject = await startSubject();
    describe(subject, { token_endpoint_auth_methods_supported: [method] });
    const found = await terms(subject);
    expect(found.client).toMatchObject({ authentication: method, source: "registered" });
    expect(found.client.clientSecret).toBeDefined();
    expect(await obtain(subject.upstream, found, subject.dispatcher)).toHaveProperty("accessToken");
    expect((await terms(subject)).client).toEqual(found.client);
  },
);

test("uses the client document where the server supports it, only over https", async () => {
  const subject = await startSubject({
    registration: ["dynamic", "document"],
    fetchDocument: async (address) => {
      const { pathname } = new URL(address);
      const document = clientDocument(HTTPS, pathname, callbackPathIn(pathname) ?? "");
      return Response.json(document, { headers: { "cache-control": "no-store" } });
    },
  });
  const found = await terms(subject, {}, HTTPS);
  const callbackPath = callbackPathOf(subject.upstream.vendor.issuer);
  expect(found.callbackPath).toBe(callbackPath);
  expect(found.client).toEqual({
    clientId: HTTPS + documentPathOf(callbackPath),
    clientSecret: undefined,
    authentication: "none",
    source: "document",
  });
  expect(subject.upstream.vendor.registrations).toEqual([]);
  const proof = newProof(found, HTTPS);
  const back = await authorize(subject.upstream, found, proof);
  expect(back.origin + back.pathname).toBe(proof.redirectUri);
  const tokens = await redeemCode(found, back.searchParams, proof, subject.dispatcher, patient());
  expect(await subject.upstream.vendor.inspect(tokens.accessToken, subject.upstream.url)).toBeDefined();
  expect((await terms(subject)).client.source).toBe("registered");
});

test("asks for a configured client and names the redirect URI if the server supports neither", async () => {
  const subject = await startSubject({ registration: [] });
  const failure = await failureOf(terms(subject));
  expect(failure.kind).toBe("refused");
  expect(failure.message).toContain("takes no registrations");
  expect(failure.message).toContain(`redirect address ${PUBLIC_URL}${callbackPathOf(subject.upstream.vendor.issuer)},`);
  expect(failure.message).toContain("oauth_client_id");
});

test.each([
  [
    400,
    JSON.stringify({ error: "invalid_redirect_uri", error_description: "Not here." }),
    "invalid_redirect_uri: Not here.",
  ],
  [403, "<html>no</html>", "did not take our registration"],
  [201, JSON.stringify({ client_name: "?" }), "did not take our registration"],
  [201, "[]", "did not take our registration"],
])("a registration that is rejected with %i %s asks for a configured client too", async (status, body, says) => {
  const subject = await startSubject();
  const path = "/register-here";
  describe(subject, { registration_endpoint: `${subject.upstream.vendor.origin}${path}` });
  subject.upstream.vendor.documents.set(path, (response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  });
  const failure = await failureOf(terms(subject));
  expect(failure.message).toContain(says);
  expect(failure.message).toContain("oauth_client_id");
});

test("accepts registrations with status 200, null values or no secret lifetime", async () => {
  const subject = await startSubject();
  const path = "/register-here";
  describe(subject, { registration_endpoint: `${subject.upstream.vendor.origin}${path}` });
  const given = {
    client_id: "a",
    client_secret: "b",
    client_uri: null,
    token_endpoint_auth_method: "client_secret_post",
  };
  subject.upstream.vendor.documents.set(path, (response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(given));
  });
  expect((await terms(subject)).client).toEqual({
    clientId: "a",
    clientSecret: "b",
    authentication: "client_secret_post",
    source: "registered",
  });
});

test("replaces a registration that is a month old or whose secret has expired", async () => {
  const subject = await startSubject();
  const first = await terms(subject);
  const { rows } = await database.pool.query<{ days: number }>(
    "select extract(epoch from expires_at - now()) / 86400 as days from upstream_client",
  );
  expect(Math.round(Number(rows[0]?.days))).toBe(30);
  await database.pool.query("update upstream_client set expires_at = now()");
  expect((await terms(subject)).client.clientId).not.toBe(first.client.clientId);
});

test("registers again after the server deleted the client", async () => {
  const subject = await startSubject();
  const found = await terms(subject);
  const proof = newProof(found);
  const back = await authorize(subject.upstream, found, proof);
  subject.upstream.vendor.answerToken = (_request, response) => {
    response.writeHead(401, { "content-type": "application/json" }).end(JSON.stringify({ error: "invalid_client" }));
    return true;
  };
  const redeem = (): Promise<unknown> => redeemCode(found, back.searchParams, proof, subject.dispatcher, patient());
  const failure = await failureOf(forgetClientIfUnknown(found, proof.redirectUri, clients, redeem));
  expect(failure.message).toContain("Our client is not known there");
  expect((await terms(subject)).client.clientId).not.toBe(found.client.clientId);
});

test("registers with the scopes that it will request, and again only if a call needs more", async () => {
  const subject = await startSubject({ scopes: ["tools.read", "tools.admin", "offline_access"] });
  const sent = (): unknown[] => subject.upstream.vendor.registrations.map(({ scope }) => scope);
  const first = await terms(subject, { oauth_scope: "tools.read" });
  expect(sent()).toEqual([first.scope]);
  expect((await terms(subject, { oauth_scope: "tools.read" })).client).toEqual(first.client);
  const wider = await terms(subject, { oauth_scope: "tools.read" }, undefined, "tools.admin");
  expect(wider.client.clientId).not.toBe(first.client.clientId);
  expect(new Set(String(sent()[1]).split(" "))).toEqual(new Set(wider.scope?.split(" ")));
  expect((await terms(subject, { oauth_scope: "tools.read" })).client).toEqual(wider.client);
  expect(sent()).toHaveLength(2);
  expect(await obtain(subject.upstream, wider, subject.dispatcher)).toHaveProperty("accessToken");
});

test("replaces a registration that was made without scopes", async () => {
  const subject = await startSubject();
  const { issuer } = subject.upstream.vendor;
  const place = { issuer, redirectUri: `${PUBLIC_URL}${callbackPathOf(issuer)}` };
  const old = { ...STATIC_CLIENT, source: "registered" } as const;
  await clients.keep(place, old, new Date(Date.now() + 3_600_000));
  expect((await terms(subject)).client).toEqual(old);
  const { client } = await terms(subject, { oauth_scope: "tools.read" });
  expect(client).toMatchObject({ registeredScope: "tools.read offline_access" });
  expect(await clients.find(place)).toEqual(client);
});

test.each(["invalid_client_metadata", "invalid_scope"])(
  "registers once without scopes at a server that rejects them with %s",
  async (error) => {
    const subject = await startSubject();
    const path = "/register-here";
    const asked: unknown[] = [];
    describe(subject, { registration_endpoint: `${subject.upstream.vendor.origin}${path}` });
    subject.upstream.vendor.documents.set(path, (response) => {
      void json(response.req).then((body) => {
        const { scope } = body as { scope?: string };
        asked.push(scope);
        response.writeHead(scope === undefined ? 201 : 400, { "content-type": "application/json" });
        response.end(JSON.stringify(scope === undefined ? { client_id: "without scopes" } : { error }));
      });
    });
    const found = await terms(subject, { oauth_scope: "tools.read" });
    expect(found.client).toMatchObject({ clientId: "without scopes", registeredScope: "tools.read offline_access" });
    expect((await terms(subject, { oauth_scope: "tools.read" })).client).toEqual(found.client);
    expect(asked).toEqual(["tools.read offline_access", undefined]);
  },
);
