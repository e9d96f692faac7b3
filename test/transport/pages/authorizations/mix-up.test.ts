import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CALLBACK_PATH, callbackPathOf } from "../../../../src/integrations/oauth/client-document.ts";
import { type OAuthUpstream, startOAuthUpstream } from "../../../support/oauth-upstream.ts";
import { startVendor, type Vendor } from "../../../support/vendor.ts";
import { comeBack, type Owner, setOut, startWorld, type World } from "./authorizing.ts";

const OAUTH = "/.well-known/oauth-authorization-server";
const OPERATORS_CLIENT = { clientId: "patchbay-at-github", clientSecret: "secret-of-the-operator" };

/** The MCP server in `world` is malicious: it tries to obtain codes that these two honest servers issue. */
let world: World;
let honest: OAuthUpstream;
let github: Vendor;

beforeAll(async () => {
  honest = await startOAuthUpstream();
  github = await startVendor({
    registration: [],
    scopes: ["repo", "read:user"],
    routes: { authorization: "/login/oauth/authorize", token: "/login/oauth/access_token" },
  });
  world = await startWorld(
    {},
    {
      OUTBOUND_ALLOW: honest.hosts.join(","),
      INTEGRATION_BASE_URLS: `github=${github.origin}`,
      INTEGRATION_OAUTH_CLIENTS: `github=${OPERATORS_CLIENT.clientId}:${OPERATORS_CLIENT.clientSecret}`,
    },
  );
  await github.know({
    client_id: OPERATORS_CLIENT.clientId,
    client_secret: OPERATORS_CLIENT.clientSecret,
    redirect_uris: [world.site.publicUrl + CALLBACK_PATH],
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: "client_secret_post",
  });
}, 60_000);
afterAll(async () => {
  await world?.close();
  await Promise.all([honest?.close(), github?.close()]);
});

/** Sets whether the honest servers send `iss` in the authorization response (RFC 9207). */
function sendIssuer(sends: boolean): void {
  for (const vendor of [honest.vendor, github]) {
    vendor.onRedirect = (address) => {
      if (!sends) address.searchParams.delete("iss");
    };
    vendor.documents.set(OAUTH, { ...vendor.metadata, authorization_response_iss_parameter_supported: sends });
  }
}

/** Sets the metadata of the malicious server, which never promises `iss`. */
function beHostile(changes: Readonly<Record<string, unknown>> = {}): void {
  const { vendor } = world.upstream;
  const said = { ...vendor.metadata, authorization_response_iss_parameter_supported: false, ...changes };
  vendor.documents.set(OAUTH, JSON.parse(JSON.stringify(said)));
}

/** Starts an authorization at the malicious server and returns the parameters of the authorization request. */
async function setOutToHostile({ browser, connect }: Owner): Promise<URLSearchParams> {
  const { location } = await setOut(browser, (await connect()).path);
  return new URL(location ?? "").searchParams;
}

/**
 * Redirects the browser to an honest login page with the request parameters of the victim and the changes of the
 * malicious server.
 */
async function sendOn(vendor: Vendor, page: unknown, brought: URLSearchParams, changes: object): Promise<URL> {
  const address = new URL(String(page));
  for (const name of ["response_type", "state", "code_challenge", "code_challenge_method"])
    address.searchParams.set(name, brought.get(name) ?? "");
  for (const [name, value] of Object.entries(changes)) address.searchParams.set(name, String(value));
  return new URL(await vendor.logIn(address.href));
}

const requestsForTokens = (): number =>
  [world.upstream.vendor, honest.vendor, github].reduce((sum, { tokenRequests }) => sum + tokenRequests.length, 0);

describe.each([
  ["with", true],
  ["without", false],
])("mix-up attack on an authorization server that responds %s iss", (_word, sends) => {
  beforeAll(() => {
    sendIssuer(sends);
    beHostile();
  });

  test("authorizes a connection with the callback of the issuer", async () => {
    const { browser, connect } = await world.owner();
    const { path } = await connect({ configuration: { url: honest.url } });
    const back = await comeBack(honest, browser, path);
    expect(back.split("?")[0]).toBe(callbackPathOf(honest.vendor.issuer));
    expect((await browser.get(back)).status).toBe(200);
  });

  test("authorizes a connection with an OAuth client from the configuration through the shared callback", async () => {
    const { browser, connect } = await world.owner();
    const { path } = await connect({ server_type: "github", configuration: {} });
    const { location } = await setOut(browser, path);
    const back = new URL(await github.logIn(location ?? ""));
    expect(back.pathname).toBe(CALLBACK_PATH);
    // The integration contract of GitHub declares no issuer, so the callback has no issuer to compare.
    back.searchParams.delete("iss");
    expect((await browser.get(back.pathname + back.search)).status).toBe(200);
  });

  test("rejects metadata that names the authorization and registration endpoints of another server", async () => {
    const { authorization_endpoint, registration_endpoint } = honest.vendor.metadata;
    beHostile({ authorization_endpoint, registration_endpoint });
    const before = requestsForTokens();
    const { browser, connect } = await world.owner();
    const refused = await setOut(browser, (await connect()).path);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("the login page of another server")]);
    expect(requestsForTokens()).toBe(before);
    beHostile();
  });

  test("does not redeem a code of the honest server in the flow of the malicious server", async () => {
    const owner = await world.owner();
    const { location } = await setOut(
      owner.browser,
      (await owner.connect({ configuration: { url: honest.url } })).path,
    );
    const ours = new URL(location ?? "").searchParams;
    const client_id = ours.get("client_id");
    const brought = await setOutToHostile(owner);
    const page = honest.vendor.metadata["authorization_endpoint"];
    const back = await sendOn(honest.vendor, page, brought, {
      client_id,
      redirect_uri: ours.get("redirect_uri"),
      resource: honest.url,
    });
    expect(back.searchParams.has("code")).toBe(true);
    const before = requestsForTokens();
    const refused = await owner.browser.get(back.pathname + back.search);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("nothing was sent there")]);
    expect(requestsForTokens()).toBe(before);
    // The callback of the malicious server is not registered for this client at the honest server.
    const changes = { client_id, redirect_uri: brought.get("redirect_uri"), resource: honest.url };
    await expect(sendOn(honest.vendor, page, brought, changes)).rejects.toThrow(/redirect_uri/);
  });

  test("does not redeem a code for an OAuth client from the configuration in the flow of the malicious server", async () => {
    const owner = await world.owner();
    const brought = await setOutToHostile(owner);
    const back = await sendOn(github, `${github.origin}/login/oauth/authorize`, brought, {
      client_id: OPERATORS_CLIENT.clientId,
      redirect_uri: world.site.publicUrl + CALLBACK_PATH,
    });
    expect(back.searchParams.has("code")).toBe(true);
    const before = requestsForTokens();
    const refused = await owner.browser.get(back.pathname + back.search);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("nothing was sent there")]);
    expect(requestsForTokens()).toBe(before);
  });
});

test("uses the callback of the issuer for a client that the connection owner registered manually", async () => {
  beHostile();
  const owner = await world.owner();
  const configuration = { url: world.upstream.url, oauth_client_id: OPERATORS_CLIENT.clientId };
  const { location } = await setOut(owner.browser, (await owner.connect({ configuration })).path);
  const redirect = callbackPathOf(world.upstream.vendor.issuer);
  expect(new URL(location ?? "").searchParams.get("redirect_uri")).toBe(world.site.publicUrl + redirect);
});
