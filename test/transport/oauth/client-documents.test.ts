import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Account } from "../../../src/identity/account.ts";
import { createOAuthRoutes } from "../../../src/transport/oauth/routes.ts";
import { createGuardedDispatcher } from "../../../src/outbound/guarded-dispatcher.ts";
import {
  attempt,
  type Browser,
  type CodeClient,
  decide,
  getCode,
  logIn,
  redeem,
  refresh,
  strangeBrowser,
} from "./code-flow.ts";
import { type DocumentHost, startDocumentHost } from "./document-host.ts";
import { type Installation, serveAlone, startInstallation } from "./installation.ts";

let host: DocumentHost;
let installation: Installation;
let account: Account;
let browser: Browser;
let count = 0;

beforeAll(async () => {
  host = await startDocumentHost();
  installation = await startInstallation({ dispatcher: host.dispatcher });
  account = await installation.newAccount();
  browser = await logIn(installation, account);
});
afterAll(async () => {
  await installation.close();
  await host.close();
});

/** Publishes a client ID metadata document with the given changes; undefined omits a member. */
function publish(changes: Readonly<Record<string, unknown>> = {}, published: { status?: number } = {}): CodeClient {
  const clientId = `https://client-${++count}.example.com/oauth/metadata.json`;
  const document = {
    client_id: clientId,
    client_name: "A client with a document",
    redirect_uris: ["http://127.0.0.1/callback", "https://app.example.com/callback"],
    ...changes,
  };
  host.publish(clientId, { body: document, ...published });
  return { clientId, clientSecret: undefined, redirectUri: "http://127.0.0.1:49152/callback" };
}

test("a client whose ID is the URL of its metadata document receives tokens with PKCE and no secret", async () => {
  const client = publish();
  const page = await browser.get(attempt(client).path);
  expect(page.text).toContain("A client with a document");
  expect(page.text).toContain(`Its name is stated by ${new URL(client.clientId).host}`);
  expect(page.text).toContain("<strong>127.0.0.1:49152</strong>");
  const { status, body } = await redeem(installation, client, await getCode(browser, client));
  expect(status).toBe(200);
  expect((await refresh(installation, client, body.refresh_token)).status).toBe(200);
  expect(await installation.grants.list(account.id)).toMatchObject([{ clientId: client.clientId }]);
  expect(host.fetched().filter((address) => address === client.clientId)).toHaveLength(1);
});

test("skips consent for an https redirect URI of a metadata document after the first approval", async () => {
  const client = { ...publish(), redirectUri: "https://app.example.com/callback" };
  await getCode(browser, client);
  expect((await browser.get(attempt(client).path)).location).toMatch(/[?&]code=/);
});

test("does not fetch a metadata document for a browser without a login session", async () => {
  const client = publish();
  for (const changes of [{}, { prompt: "none" }]) await strangeBrowser(installation).get(attempt(client, changes).path);
  expect(host.fetched()).not.toContain(client.clientId);
});

test("the token endpoint does not fetch the metadata document of a client without a grant", async () => {
  const client = publish();
  const { status, body } = await refresh(installation, client, "x".repeat(43));
  expect([status, body["error"]]).toEqual([401, "invalid_client"]);
  expect(host.fetched()).not.toContain(client.clientId);
});

describe("invalid client metadata documents", () => {
  const cases: Readonly<Record<string, () => CodeClient>> = {
    "that names another client": () => publish({ client_id: "https://other.example.com/metadata.json" }),
    "without client_id": () => publish({ client_id: undefined }),
    "that returns 404": () => publish({}, { status: 404 }),
    "that redirects to another URL": () => publish({}, { status: 302 }),
    "without redirect URIs": () => publish({ redirect_uris: undefined }),
    "whose redirect URIs are all unsafe": () =>
      publish({ redirect_uris: ["javascript:alert(1)", "http://evil.example/"] }),
    "that requires authentication with a secret": () => publish({ token_endpoint_auth_method: "client_secret_basic" }),
    "that requires private_key_jwt without keys": () => publish({ token_endpoint_auth_method: "private_key_jwt" }),
    "of more than 64 KiB": () => publish({ client_name: "x".repeat(70_000) }),
  };
  test.each(Object.entries(cases))(
    "shows an error page and does not redirect for a document %s",
    async (_title, make) => {
      const { status, location } = await browser.get(attempt(make()).path);
      expect([status, location]).toEqual([400, ""]);
    },
  );

  test("shows an error page for a document that is not a JSON object", async () => {
    for (const body of ["[]", "not JSON", "null", `{"a":`]) {
      const client = publish();
      host.publish(client.clientId, { body });
      expect((await browser.get(attempt(client).path)).status).toBe(400);
    }
  });
});

test("accepts the safe redirect URIs of a document and rejects its unsafe redirect URIs", async () => {
  const client = publish({ redirect_uris: ["http://evil.example/callback", "https://app.example.com/callback"] });
  const bad = await browser.get(attempt(client, { redirect_uri: "http://evil.example/callback" }).path);
  expect([bad.status, bad.location]).toEqual([400, ""]);
  expect((await browser.get(attempt(client, { redirect_uri: "https://app.example.com/callback" }).path)).status).toBe(
    200,
  );
});

test("ignores grant types and scopes that a metadata document claims beyond those of its client type", async () => {
  const client = publish({ grant_types: ["authorization_code", "client_credentials"], scope: "mgmt.admin" });
  const admin = await logIn(installation, await installation.newAccount(true));
  const answer = await admin.get(attempt(client, { scope: "mgmt.admin" }).path);
  expect(new URL(answer.location).searchParams.get("error")).toBe("invalid_scope");
  await decide(admin, await admin.get(attempt(client).path));
  const response = await fetch(`${installation.issuer}/oauth2/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "client_credentials", client_id: client.clientId }),
  });
  expect(await response.json()).toMatchObject({ error: "unauthorized_client" });
});

describe("client IDs that are not URLs of a public https site", () => {
  test.each([
    "https://127.0.0.1/metadata.json",
    "https://localhost/metadata.json",
    "https://[::1]/metadata.json",
    "https://169.254.169.254/latest/meta-data",
    "https://10.0.0.1/metadata.json",
    "http://client.example.com/metadata.json",
    "https://user@client.example.com/metadata.json",
    "https://client.example.com/a/../metadata.json",
    "https://client.example.com/metadata.json#x",
  ])("rejects the client ID %s without a network request", async (clientId) => {
    const errors: unknown[] = [];
    const dispatcher = createGuardedDispatcher({ allow: [] });
    const guarded = await serveAlone(
      createOAuthRoutes({
        ...installation.serverDeps,
        dispatcher,
        log: { error: (fields) => errors.push(fields), warn: () => undefined },
      }),
    );
    const { path } = attempt({ ...publish(), clientId });
    const answer = await fetch(`http://127.0.0.1:${guarded.port}${path}`, {
      headers: { cookie: browser.cookie },
      redirect: "manual",
    });
    expect(answer.status).toBe(400);
    expect(errors).toEqual([]);
    await Promise.all([dispatcher.close(), guarded.close()]);
  });
});
