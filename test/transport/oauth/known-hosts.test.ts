import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readConfig } from "../../../src/config.ts";
import { attempt, type Browser, type CodeClient, getCode, logIn, redeem } from "./code-flow.ts";
import { type Installation, startInstallation } from "./installation.ts";

let installation: Installation;
let browser: Browser;

beforeAll(async () => {
  installation = await startInstallation({ registration: readConfig({}).dynamicRegistration });
  browser = await logIn(installation, await installation.newAccount());
});
afterAll(() => installation.close());

async function register(redirectUris: readonly string[]): Promise<CodeClient | string> {
  const response = await fetch(`${installation.issuer}/oauth2/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ redirect_uris: redirectUris, token_endpoint_auth_method: "none" }),
  });
  const body = (await response.json()) as Readonly<Record<string, unknown>>;
  if (response.status !== 201) return String(body["error"]);
  return { clientId: String(body["client_id"]), clientSecret: undefined, redirectUri: redirectUris[0] ?? "" };
}

/** Redirect URIs that each known host sends in its registration. */
const HOSTS: Readonly<Record<string, readonly string[]>> = {
  "Claude (claude.ai)": ["https://claude.ai/api/mcp/auth_callback"],
  "Claude (claude.com)": ["https://claude.com/api/mcp/auth_callback"],
  ChatGPT: ["https://chatgpt.com/connector_platform_oauth_redirect"],
  "a connector of ChatGPT": ["https://chatgpt.com/connector/oauth/FLLrQdlez6Uf"],
  Cursor: [
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "https://www.cursor.com/agents/mcp/oauth/callback",
    "http://localhost:8787/callback",
  ],
  "VS Code": [
    "https://insiders.vscode.dev/redirect",
    "https://vscode.dev/redirect",
    "http://127.0.0.1/",
    "http://127.0.0.1:33418/",
  ],
  "an app of VS Code": ["vscode://vscode.github-authentication/did-authenticate"],
  "an app of VS Code Insiders": ["vscode-insiders://vscode.github-authentication/did-authenticate"],
  "a program on the user's machine": ["http://localhost:3334/oauth/callback"],
};

describe.each(Object.entries(HOSTS))("registration of %s with the default configuration", (_host, redirectUris) => {
  test("lets the host register and redeem codes at each of its redirect URIs", async () => {
    const client = await register(redirectUris);
    if (typeof client === "string") throw new Error(client);
    for (const redirectUri of redirectUris) {
      const used = { ...client, redirectUri };
      const { status } = await redeem(installation, used, await getCode(browser, used));
      expect([redirectUri, status]).toEqual([redirectUri, 200]);
    }
  });
});

test("accepts any port for a registered loopback redirect URI (RFC 8252 §7.3)", async () => {
  const client = await register(["http://127.0.0.1/", "http://127.0.0.1:33418/"]);
  if (typeof client === "string") throw new Error(client);
  const used = { ...client, redirectUri: "http://127.0.0.1:59656/" };
  expect((await redeem(installation, used, await getCode(browser, used))).status).toBe(200);
});

test("requires consent every time for a site that forwards the code to a local program", async () => {
  const client = await register(["https://vscode.dev/redirect"]);
  if (typeof client === "string") throw new Error(client);
  await getCode(browser, client);
  const again = await browser.get(attempt(client).path);
  expect([again.status, again.location]).toEqual([200, ""]);
  expect(again.text).toContain("/oauth2/consent");
});

describe("default registration rule", () => {
  test.each([
    "https://app.example.com/callback",
    "https://claude.ai/api/mcp/auth_callback/other",
    "https://claude.ai/api/mcp/auth_callback?next=https://evil.example",
    "https://claude.ai.evil.example/api/mcp/auth_callback",
    "https://claude.ai:8443/api/mcp/auth_callback",
    "https://chatgpt.com/connector/oauth/",
    "https://chatgpt.com/connector/oauth/../../share/x",
    "https://chatgpt.com/connector/oauth/a%2f..%2fb",
    "https://vscode.dev/redirect?url=https://evil.example",
    "cursor-evil://anysphere.cursor-mcp/oauth/callback",
    "http://127.0.0.1.evil.example/",
  ])("rejects a registration with the redirect URI %s", async (uri) => {
    expect(await register([uri])).toBe("invalid_redirect_uri");
    expect(await register(["http://127.0.0.1/", uri])).toBe("invalid_redirect_uri");
  });
});

describe("DYNAMIC_REGISTRATION", () => {
  test("accepts additional hosts and schemes together with the known hosts", () => {
    expect(readConfig({ DYNAMIC_REGISTRATION: "known,App.example.com,zed:" }).dynamicRegistration).toEqual({
      hosts: new Set(["app.example.com"]),
      schemes: new Set(["zed:"]),
      allowsLoopback: true,
      allowsKnown: true,
      allowsAny: false,
    });
  });

  test("allows only the listed hosts and schemes when the list omits known", () => {
    const rule = readConfig({ DYNAMIC_REGISTRATION: "app.example.com" }).dynamicRegistration;
    expect(rule).toMatchObject({ allowsLoopback: false, allowsKnown: false, allowsAny: false });
  });

  test("open accepts every valid redirect URI", async () => {
    const open = await startInstallation({
      registration: readConfig({ DYNAMIC_REGISTRATION: "open" }).dynamicRegistration,
    });
    const post = async (uri: string): Promise<number> => {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify({ redirect_uris: [uri] });
      return (await fetch(`${open.issuer}/oauth2/register`, { method: "POST", headers, body })).status;
    };
    const uris = ["https://any.example/callback", "zed://callback", "http://any.example/", "javascript:alert(1)"];
    expect(await Promise.all(uris.map(post))).toEqual([201, 201, 400, 400]);
    await open.close();
  });

  test.each(["off,loopback", "open,known", "https:", "https://app.example.com", "app example"])(
    "rejects the value %s and names the invalid item",
    (value) => {
      expect(() => readConfig({ DYNAMIC_REGISTRATION: value })).toThrow(
        /^DYNAMIC_REGISTRATION contains ".+"; it must be known, off, open, or a list/,
      );
    },
  );
});
