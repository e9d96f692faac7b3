// @module-tag browser
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/json.ts";
import { collectComplaints, findAccessibilityFaults, type HeadlessBrowser, startBrowser } from "../support/browser.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type OAuthUpstream, startOAuthUpstream } from "../support/oauth-upstream.ts";
import { type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

let upstream: OAuthUpstream;
let database: TestDatabase;
let service: Service;
let browser: HeadlessBrowser;

beforeAll(async () => {
  upstream = await startOAuthUpstream();
  database = await createTestDatabase();
  const env = { OUTBOUND_ALLOW: upstream.hosts.join(",") };
  service = await startService({ databaseUrl: database.url, env });
  browser = await startBrowser();
}, 90_000);
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await database?.close();
  await upstream?.close();
});

test("an owner authorizes a connection in the browser, and an agent then calls its tool", async () => {
  const { email, password } = await service.command("account", "create", "--email", "ada@example.com");
  const scope = "mgmt.read mgmt.write mcp.read mcp.write";
  const { token } = await service.command("pat", "create", "--account", String(email), "--scope", scope);

  async function call(method: string, path: string, body?: JsonObject): Promise<JsonObject> {
    const response = await fetch(`${service.url}/api/v1/mcp-servers${path}`, {
      method,
      headers: { authorization: `Bearer ${String(token)}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (!response.ok || !isJsonObject(answer)) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  }
  const detailsOf = async (id: string): Promise<JsonObject> => {
    const { connection } = await call("GET", `/${id}?view=detailed`);
    return isJsonObject(connection) ? connection : {};
  };

  // The verification detects that the server requires a login.
  const created = await call("POST", "", { server_type: "mcp", name: "Acme", configuration: { url: upstream.url } });
  const id = String(created["server_id"]);
  expect(created).toMatchObject({ status: "active" });
  const waiting = await until(async () => {
    const details = await detailsOf(id);
    return details["status"] === "needs_authorization" && details;
  });
  expect(waiting).toMatchObject({ auth_method: "oauth2", status_reason: expect.stringMatching(/authorize|log in/) });

  const { data } = await call("POST", `/${id}/authorization`);
  const page = await browser.newPage();
  const complaints = collectComplaints(page);
  await page.goto(isJsonObject(data) ? String(data["authorization_url"]) : "");
  await page.getByLabel("E-mail address").fill(String(email));
  await page.getByLabel("Password").fill(String(password));
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: `Connect “Acme” to ${new URL(upstream.url).host}?` }).waitFor();
  expect(await findAccessibilityFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "Continue and log in there" }).click();
  await page.getByRole("heading", { name: "Log in at the vendor" }).waitFor();
  expect(new URL(page.url()).origin).toBe(upstream.vendor.origin);
  await page.getByLabel("Name").fill("Grace");
  await page.getByRole("button", { name: "Allow" }).click();
  await page.getByRole("heading", { name: "“Acme” is authorized" }).waitFor();
  expect(await findAccessibilityFaults(page)).toEqual([]);
  await page.getByRole("link", { name: "Go to the connection" }).click();
  await page.waitForURL(`${service.url}/connections/${id}`);
  expect(complaints.filter((line) => !line.includes("favicon"))).toEqual([]);

  await until(async () => (await call("GET", `/${id}/tools`), await isVerified()));
  async function isVerified(): Promise<boolean> {
    const { data: connection } = await call("GET", `/${id}`);
    return isJsonObject(connection) && connection["api_key_verification_status"] === "verified";
  }
  const client = new Client({ name: "journey", version: "1" });
  const headers = { authorization: `Bearer ${String(token)}` };
  const transport = new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit: { headers } });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  const { content } = await client.callTool({ name: "whoami", arguments: {} });
  await client.close();
  expect(content).toEqual([{ type: "text", text: "Grace" }]);

  await call("DELETE", `/${id}`);
  await until(async () => upstream.vendor.revocations.length > 0);

  const said = service.output();
  expect(upstream.vendor.secrets.size).toBeGreaterThan(0);
  for (const secret of upstream.vendor.secrets) expect(said).not.toContain(secret);
  expect(upstream.served.every(({ token: sent }) => sent !== token)).toBe(true);
});
