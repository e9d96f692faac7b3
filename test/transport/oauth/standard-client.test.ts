import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Account } from "../../../src/identity/account.ts";
import type { CreatedClient } from "../../../src/identity/clients/clients.ts";
import { type Browser, type CodeClient, decide, insertCodeClient, logIn } from "./code-flow.ts";
import { type Installation, startInstallation } from "./installation.ts";

// eslint-disable-next-line @typescript-eslint/no-deprecated -- marked so to stand out; tests speak to loopback in clear
const insecure = { [oauth.allowInsecureRequests]: true };

let installation: Installation;
let created: CreatedClient;
let server: oauth.AuthorizationServer;

beforeAll(async () => {
  installation = await startInstallation();
  created = await installation.clients.create(await installation.newAccount(), "mgmt.read mgmt.write");
  const issuer = new URL(installation.issuer);
  const discovery = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: "oauth2" });
  server = await oauth.processDiscoveryResponse(issuer, discovery);
});
afterAll(() => installation.close());

function ask(secret: string, parameters: Readonly<Record<string, string>>): Promise<Response> {
  const client = { client_id: created.clientId };
  const form = new URLSearchParams(parameters);
  return oauth.clientCredentialsGrantRequest(server, client, oauth.ClientSecretBasic(secret), form, insecure);
}

test("a standard client library discovers the server, gets a token and validates it as an access token (RFC 9068)", async () => {
  const resource = `${installation.issuer}/mcp`;
  const response = await ask(created.clientSecret, { scope: "mgmt.read", resource });
  const answer = await oauth.processClientCredentialsResponse(server, { client_id: created.clientId }, response);
  expect(answer).toMatchObject({ token_type: "bearer", expires_in: 3600, scope: "mgmt.read" });

  const headers = { authorization: `Bearer ${answer.access_token}` };
  const request = new Request(resource, { headers });
  const claims = await oauth.validateJwtAccessToken(server, request, resource, insecure);
  expect(claims).toMatchObject({ client_id: created.clientId, scope: "mgmt.read", token_use: "access" });
});

test("a standard client library parses the error responses", async () => {
  const client = { client_id: created.clientId };
  const scope = await ask(created.clientSecret, { scope: "mgmt.destroy" });
  await expect(oauth.processClientCredentialsResponse(server, client, scope)).rejects.toMatchObject({
    status: 400,
    error: "invalid_scope",
  });
  const secret = await ask("wrong", {});
  await expect(oauth.processClientCredentialsResponse(server, client, secret)).rejects.toMatchObject({
    cause: [{ scheme: "basic", parameters: { realm: installation.issuer } }],
  });
});

describe("authorization code flow with standard client libraries", () => {
  let account: Account;
  let client: CodeClient;
  let browser: Browser;
  beforeAll(async () => {
    account = await installation.newAccount();
    client = await insertCodeClient(installation, account);
    browser = await logIn(installation, account);
  });

  /** Opens an authorization URL, approves the request and returns the URL of the redirect. */
  async function allow(address: URL): Promise<URL> {
    const page = await browser.get(address.pathname + address.search);
    const answer = page.status === 200 ? await decide(browser, page) : page;
    return new URL(answer.location);
  }

  test("oauth4webapi completes authorization with iss, redeems the code, refreshes, introspects and revokes tokens", async () => {
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const address = new URL(String(server.authorization_endpoint));
    address.search = new URLSearchParams({
      ...{ client_id: client.clientId, redirect_uri: client.redirectUri, response_type: "code", state },
      ...{ scope: "mcp.read", code_challenge_method: "S256" },
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    }).toString();
    const ours = { client_id: client.clientId };
    const authenticate = oauth.ClientSecretBasic(String(client.clientSecret));
    const parameters = oauth.validateAuthResponse(server, ours, await allow(address), state);
    const redeemed = await oauth.processAuthorizationCodeResponse(
      server,
      ours,
      await oauth.authorizationCodeGrantRequest(
        server,
        ours,
        authenticate,
        parameters,
        client.redirectUri,
        verifier,
        insecure,
      ),
    );
    expect(redeemed).toMatchObject({ token_type: "bearer", scope: "mcp.read" });
    const refreshed = await oauth.processRefreshTokenResponse(
      server,
      ours,
      await oauth.refreshTokenGrantRequest(server, ours, authenticate, String(redeemed.refresh_token), insecure),
    );
    const look = async () =>
      oauth.processIntrospectionResponse(
        server,
        ours,
        await oauth.introspectionRequest(server, ours, authenticate, refreshed.access_token, insecure),
      );
    expect(await look()).toMatchObject({ active: true, client_id: client.clientId });
    const revoked = await oauth.revocationRequest(
      server,
      ours,
      authenticate,
      String(refreshed.refresh_token),
      insecure,
    );
    await oauth.processRevocationResponse(revoked);
    expect(await look()).toMatchObject({ active: false });
  });

  test("openid-client discovers the server (RFC 8414), completes authorization, redeems the code and refreshes the token", async () => {
    const config = await openid.discovery(
      new URL(installation.issuer),
      client.clientId,
      undefined,
      openid.ClientSecretBasic(String(client.clientSecret)),
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- marked so to stand out; tests speak to loopback in clear
      { algorithm: "oauth2", execute: [openid.allowInsecureRequests] },
    );
    const [pkceCodeVerifier, expectedState] = [openid.randomPKCECodeVerifier(), openid.randomState()];
    const address = openid.buildAuthorizationUrl(config, {
      ...{ redirect_uri: client.redirectUri, scope: "mcp.read mcp.write", state: expectedState },
      ...{ code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier), code_challenge_method: "S256" },
      resource: `${installation.issuer}/mcp`,
    });
    const tokens = await openid.authorizationCodeGrant(config, await allow(address), {
      pkceCodeVerifier,
      expectedState,
    });
    expect(tokens).toMatchObject({ scope: "mcp.read mcp.write" });
    const again = await openid.refreshTokenGrant(config, String(tokens.refresh_token));
    expect(again.access_token).not.toBe(tokens.access_token);
  });
});

test("the authorization server metadata (RFC 8414) lists exactly the supported features", async () => {
  const { issuer } = installation;
  const response = await fetch(`${issuer}/.well-known/oauth-authorization-server`);
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  const metadata = (await response.json()) as Record<string, unknown>;
  expect(metadata).toMatchObject({
    issuer,
    authorization_endpoint: `${issuer}/oauth2/authorize`,
    token_endpoint: `${issuer}/oauth2/token`,
    revocation_endpoint: `${issuer}/oauth2/revoke`,
    introspection_endpoint: `${issuer}/oauth2/introspect`,
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "private_key_jwt", "none"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  });
  expect(
    Object.keys(metadata).filter((name) => /userinfo|id_token|subject_types|claims|end_session/.test(name)),
  ).toEqual([]);
  expect((await fetch(`${issuer}/.well-known/openid-configuration`)).status).toBe(404);
});
