import * as oauth from "oauth4webapi";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CreatedClient } from "../../src/auth/clients.ts";
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

test("a standard client library discovers the server, gets a token and finds it to be a proper access token", async () => {
  const resource = `${installation.issuer}/mcp`;
  const response = await ask(created.clientSecret, { scope: "mgmt.read", resource });
  const answer = await oauth.processClientCredentialsResponse(server, { client_id: created.clientId }, response);
  expect(answer).toMatchObject({ token_type: "bearer", expires_in: 3600, scope: "mgmt.read" });

  const headers = { authorization: `Bearer ${answer.access_token}` };
  const request = new Request(resource, { headers });
  const claims = await oauth.validateJwtAccessToken(server, request, resource, insecure);
  expect(claims).toMatchObject({ client_id: created.clientId, scope: "mgmt.read", token_use: "access" });
});

test("a standard client library understands the refusals", async () => {
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
