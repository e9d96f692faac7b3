import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, test, onTestFinished } from "vitest";
import { type OAuthUpstream, startOAuthUpstream } from "../../support/oauth-upstream.ts";
import type { VendorOptions } from "../../support/vendor.ts";

const REDIRECT_URI = "http://127.0.0.1:1/authorizations/callback";
const VERIFIER = "a-verifier-of-a-test-that-is-at-least-43-characters-long";
const CHALLENGE = Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(VERIFIER))).toString(
  "base64url",
);

async function start(options?: VendorOptions): Promise<OAuthUpstream> {
  const upstream = await startOAuthUpstream(options);
  onTestFinished(() => upstream.close());
  return upstream;
}

async function register({ vendor }: OAuthUpstream): Promise<string> {
  const response = await fetch(String(vendor.metadata["registration_endpoint"]), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      redirect_uris: [REDIRECT_URI],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "none",
    }),
  });
  return ((await response.json()) as { client_id: string }).client_id;
}

function authorizeUrl({ vendor, url }: OAuthUpstream, clientId: string, scope: string): string {
  const address = new URL(String(vendor.metadata["authorization_endpoint"]));
  address.search = new URLSearchParams({
    ...{ response_type: "code", client_id: clientId, redirect_uri: REDIRECT_URI, state: "s", scope },
    ...{ code_challenge: CHALLENGE, code_challenge_method: "S256", resource: url },
  }).toString();
  return address.href;
}

interface Tokens {
  readonly status: number;
  readonly access_token: string;
  readonly refresh_token: string;
  readonly error?: string;
}

async function ask({ vendor }: OAuthUpstream, form: Readonly<Record<string, string>>): Promise<Tokens> {
  const response = await fetch(String(vendor.metadata["token_endpoint"]), {
    method: "POST",
    body: new URLSearchParams(form),
  });
  return { status: response.status, ...((await response.json()) as object) } as Tokens;
}

async function logIn(upstream: OAuthUpstream, scope = "tools.read"): Promise<{ clientId: string; tokens: Tokens }> {
  const clientId = await register(upstream);
  const back = new URL(await upstream.vendor.logIn(authorizeUrl(upstream, clientId, scope), { name: "Ada" }));
  expect(back.origin + back.pathname).toBe(REDIRECT_URI);
  expect(back.searchParams.get("iss")).toBe(upstream.vendor.issuer);
  const code = back.searchParams.get("code") ?? "";
  const tokens = await ask(upstream, {
    ...{ grant_type: "authorization_code", client_id: clientId, code, code_verifier: VERIFIER },
    ...{ redirect_uri: REDIRECT_URI, resource: upstream.url },
  });
  return { clientId, tokens };
}

async function callTool(upstream: OAuthUpstream, token: string, name: string): Promise<string> {
  const client = new Client({ name: "a test", version: "1" });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(upstream.url), { requestInit: { headers } }));
  const { content } = await client.callTool({ name, arguments: {} });
  await client.close();
  return JSON.stringify(content);
}

test.each(["", "/tenant"])(
  "the stand-in with issuer path '%s' logs a real client in and identifies the person",
  async (issuerPath) => {
    const upstream = await start({ issuerPath });
    const { tokens } = await logIn(upstream);
    expect(await callTool(upstream, tokens.access_token, "whoami")).toContain("Ada");
    expect(upstream.served.at(-1)).toMatchObject({ tool: "whoami", token: tokens.access_token });
  },
);

test("a tool that requires another scope returns 403 with the required scopes", async () => {
  const upstream = await start();
  const { tokens } = await logIn(upstream);
  await expect(callTool(upstream, tokens.access_token, "administer")).rejects.toThrow(/scope|Forbidden|403/i);
  const wider = await logIn(upstream, "tools.read tools.admin");
  expect(await callTool(upstream, wider.tokens.access_token, "administer")).toContain("{}");
});

test("refresh tokens rotate, and reuse revokes the whole grant", async () => {
  const upstream = await start();
  const { clientId, tokens } = await logIn(upstream);
  const form = { grant_type: "refresh_token", client_id: clientId, refresh_token: tokens.refresh_token };
  const [one, other] = await Promise.all([ask(upstream, form), ask(upstream, form)]);
  expect([one.status, other.status].sort()).toEqual([200, 400]);
  const next = [one, other].find(({ status }) => status === 200)?.refresh_token ?? "";
  expect(await ask(upstream, { ...form, refresh_token: next })).toMatchObject({ status: 400, error: "invalid_grant" });
  expect(upstream.vendor.refreshes()).toBe(3);
});

test("rejects expired tokens until they are refreshed, and revoked grants permanently", async () => {
  const upstream = await start();
  const { clientId, tokens } = await logIn(upstream);
  upstream.vendor.expireTokens();
  await expect(callTool(upstream, tokens.access_token, "whoami")).rejects.toThrow();
  const form = { grant_type: "refresh_token", client_id: clientId, refresh_token: tokens.refresh_token };
  const fresh = await ask(upstream, form);
  expect(await callTool(upstream, fresh.access_token, "whoami")).toContain("Ada");
  upstream.vendor.endGrants();
  await expect(callTool(upstream, fresh.access_token, "whoami")).rejects.toThrow();
  expect(await ask(upstream, { ...form, refresh_token: fresh.refresh_token })).toMatchObject({
    error: "invalid_grant",
  });
});

test("can drop an answer after processing, and counts revocations", async () => {
  const upstream = await start();
  const { clientId, tokens } = await logIn(upstream);
  upstream.vendor.beforeAnswer = async () => "drop";
  const form = { grant_type: "refresh_token", client_id: clientId, refresh_token: tokens.refresh_token };
  await expect(ask(upstream, form)).rejects.toThrow();
  upstream.vendor.beforeAnswer = undefined;
  expect(await ask(upstream, form)).toMatchObject({ error: "invalid_grant" });
  const endpoint = String(upstream.vendor.metadata["revocation_endpoint"]);
  const body = new URLSearchParams({ client_id: clientId, token: tokens.refresh_token });
  expect((await fetch(endpoint, { method: "POST", body })).status).toBe(200);
  expect(upstream.vendor.revocations).toHaveLength(1);
});

test("a denied login redirects with access_denied", async () => {
  const upstream = await start();
  const clientId = await register(upstream);
  const back = await upstream.vendor.logIn(authorizeUrl(upstream, clientId, "tools.read"), { consents: false });
  expect(new URL(back).searchParams.get("error")).toBe("access_denied");
});
