import { afterAll, beforeAll, expect, test } from "vitest";
import { createProtocolClient, type ProtocolClient } from "../support/clients.ts";
import type { JsonObject } from "../../src/json.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createFormBrowser, formsOf } from "../support/form-browser.ts";
import { createOwner } from "../support/owner.ts";
import { type Service, startService } from "../support/service.ts";
import { startVendor, type Vendor } from "../support/vendor.ts";

const CLIENT = { clientId: "patchbay-at-github", clientSecret: "canary-secret:of-the-operator" };

let database: TestDatabase;
let vendor: Vendor;
let service: Service;
let client: ProtocolClient;
const called: { readonly path: string; readonly subject: string | undefined }[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  vendor = await startVendor({
    registration: [],
    scopes: ["repo", "read:user"],
    routes: { authorization: "/login/oauth/authorize", token: "/login/oauth/access_token" },
  });
  vendor.serve = async (request, response) => {
    const token = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
    const found = await vendor.inspect(token, vendor.origin);
    called.push({ path: request.url ?? "", subject: found?.subject });
    response.writeHead(found === undefined ? 401 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify({ login: found?.subject ?? null }));
  };
  service = await startService({
    databaseUrl: database.url,
    env: {
      INTEGRATION_BASE_URLS: `github=${vendor.origin}`,
      INTEGRATION_OAUTH_CLIENTS: `github=${CLIENT.clientId}:${CLIENT.clientSecret}`,
    },
  });
  await vendor.know({
    client_id: CLIENT.clientId,
    client_secret: CLIENT.clientSecret,
    redirect_uris: [`${service.url}/authorizations/callback`],
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: "client_secret_post",
  });
  client = createProtocolClient("rest", service.url);
});

afterAll(async () => {
  await service?.stop();
  await Promise.all([vendor?.close(), database?.close()]);
});

test("an owner connects GitHub by logging in, and its tools are called on the owner's behalf", async () => {
  const person = await service.command("account", "create", "--email", "ada@example.com");
  const scope = "mgmt.read mgmt.write mcp.read mcp.write";
  const { token } = await service.command("pat", "create", "--account", "ada@example.com", "--scope", scope);
  const owner = createOwner(client, String(token));
  const catalog = (await owner.call("ListIntegrations")) as { data: { server_type: string; auth_methods: string[] }[] };
  const methodsOf = (name: string) => catalog.data.find(({ server_type }) => server_type === name)?.auth_methods;
  expect([methodsOf("github"), methodsOf("gitlab")]).toEqual([["api_key", "oauth2"], ["api_key"]]);

  const created = await owner.call("CreateConnection", { server_type: "github", auth_method: "oauth2" });
  expect(created).toMatchObject({ status: "needs_authorization" });
  const browser = createFormBrowser(service.url);
  await browser.logIn("ada@example.com", String(person["password"]));
  const authorize = async (address: unknown): Promise<void> => {
    const { pathname } = new URL(String(address));
    const [form] = formsOf((await browser.get(pathname)).text).filter(({ action }) => action === pathname);
    const { location } = await browser.post(pathname, form?.fields ?? {});
    const back = new URL(await vendor.logIn(location ?? "", { name: "Ada" }));
    expect((await browser.get(back.pathname + back.search)).text).toContain("is authorized");
  };
  await authorize(created["authorization_url"]);

  const id = String(created["server_id"]);
  await owner.waitFor(id, "verified");
  const session = await owner.open();
  const call = () => owner.call("CallTool", { name: "get_authenticated_user", arguments: {} }, session);
  expect(JSON.stringify(await call())).toContain("Ada");

  vendor.endGrants();
  expect(await call()).toMatchObject({ isError: true });
  const shown = await owner.call("GetConnection", { server_id: id, view: "detailed" });
  expect(shown["connection"]).toMatchObject({ status: "needs_authorization", auth_method: "oauth2" });

  const again = await owner.call("AuthorizeConnection", { server_id: id });
  await authorize((again["data"] as JsonObject)["authorization_url"]);
  await owner.waitFor(id, "verified");
  vendor.expireTokens();
  const refreshes = vendor.refreshes();
  expect(JSON.stringify(await call())).toContain("Ada");
  expect(called.at(-1)).toEqual({ path: "/user", subject: "Ada" });
  expect(vendor.refreshes()).toBe(refreshes + 1);
  for (const secret of [...vendor.secrets, CLIENT.clientSecret]) expect(service.output()).not.toContain(secret);
});
