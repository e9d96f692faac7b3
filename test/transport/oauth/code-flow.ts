import { createHash, randomBytes } from "node:crypto";
import type { Account } from "../../../src/identity/account.ts";
import type { ClientAuthMethod } from "../../../src/identity/clients/oauth-client.ts";
import { hashSecret } from "../../../src/identity/hash-secret.ts";
import { randomId, randomSecret } from "../../../src/identity/random.ts";
import type { JsonObject } from "../../../src/json.ts";
import { basic, type Installation } from "./installation.ts";

/** HTTP response that a browser receives: a page or a redirect. */
export interface BrowserAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Value of the Location header; empty for a page. */
  readonly location: string;
  readonly text: string;
}

/** A browser with or without a login session. */
export interface Browser {
  readonly cookie: string;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<BrowserAnswer>;
  post(path: string, form: URLSearchParams, headers?: Readonly<Record<string, string>>): Promise<BrowserAnswer>;
}

/** A client that is allowed to use the authorization code flow. */
export interface CodeClient {
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  readonly redirectUri: string;
}

/** An authorization request together with its PKCE verifier. */
export interface Attempt {
  readonly verifier: string;
  readonly path: string;
}

function browserWith(issuer: string, cookie: string): Browser {
  async function send(path: string, init: RequestInit): Promise<BrowserAnswer> {
    const headers = { ...(cookie !== "" && { cookie }), ...(init.headers as Record<string, string>) };
    const response = await fetch(issuer + path, { ...init, redirect: "manual", headers });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      location: response.headers.get("location") ?? "",
      text,
    };
  }
  return {
    cookie,
    get: (path, headers = {}) => send(path, { headers }),
    post: (path, form, headers = {}) =>
      send(path, { method: "POST", body: form, headers: { origin: issuer, ...headers } }),
  };
}

/** Returns a browser without a login session. */
export function strangeBrowser({ issuer }: Installation): Browser {
  return browserWith(issuer, "");
}

/** Returns a browser with a login session of the account. */
export async function logIn({ issuer, sessions }: Installation, account: Account): Promise<Browser> {
  const begun = await sessions.begin({ accountId: account.id }, undefined);
  if (begun === undefined) throw new Error("nobody could be logged in");
  return browserWith(issuer, `patchbay_session=${begun.token}`);
}

/** Inserts an OAuth client of the account that is allowed to use the authorization code flow. */
export async function insertCodeClient(
  { database, pepper }: Pick<Installation, "database" | "pepper">,
  account: Account,
  changes: {
    readonly method?: ClientAuthMethod;
    readonly redirectUris?: readonly string[];
    readonly scopes?: readonly string[];
    readonly jwks?: JsonObject;
    readonly name?: string;
  } = {},
): Promise<CodeClient> {
  const { method = "client_secret_basic", redirectUris = ["https://app.example.com/callback"] } = changes;
  const { scopes = ["mgmt.read", "mgmt.write", "mcp.read", "mcp.write"], jwks, name = "The test's client" } = changes;
  const clientId = randomId("client_");
  const clientSecret = method === "client_secret_basic" ? randomSecret() : undefined;
  const secretHash = clientSecret === undefined ? null : hashSecret(pepper, clientSecret);
  const grantTypes = ["authorization_code", "refresh_token", "client_credentials"];
  await database.pool.query(
    `insert into oauth_client (account_id, id, name, secret_hash, scopes, redirect_uris, grant_types, token_endpoint_auth_method, jwks)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [account.id, clientId, name, secretHash, scopes, redirectUris, grantTypes, method, jwks ?? null],
  );
  return { clientId, clientSecret, redirectUri: redirectUris[0] ?? "" };
}

/** Builds an authorization request; undefined omits a parameter. */
export function attempt(client: CodeClient, changes: Readonly<Record<string, string | undefined>> = {}): Attempt {
  const verifier = randomBytes(32).toString("base64url");
  const parameters: Record<string, string | undefined> = {
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    scope: "mcp.read mcp.write",
    state: "the state",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    ...changes,
  };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
  return { verifier, path: `/oauth2/authorize?${query.toString()}` };
}

/** Returns the hidden fields of the form on a page. */
export function hiddenFields(page: string): URLSearchParams {
  const fields = new URLSearchParams();
  for (const [tag] of page.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(tag)?.[1];
    const value = /value="([^"]*)"/.exec(tag)?.[1] ?? "";
    if (name !== undefined) fields.set(name, value.replaceAll("&amp;", "&").replaceAll("&#39;", "'"));
  }
  return fields;
}

/** Submits the consent form. */
export async function decide(
  browser: Browser,
  page: BrowserAnswer,
  decision: "approve" | "deny" = "approve",
  connections: readonly number[] | "all" = "all",
): Promise<BrowserAnswer> {
  const form = hiddenFields(page.text);
  form.set("decision", decision);
  form.set("reach", connections === "all" ? "all" : "chosen");
  if (connections !== "all") for (const id of connections) form.append("connection", String(id));
  return browser.post("/oauth2/consent", form);
}

/** Returns the query parameters of the redirect to the client. */
export function redirectParameters({ location }: BrowserAnswer): Record<string, string> {
  return Object.fromEntries(new URL(location).searchParams);
}

/** Completes the authorization request up to the authorization code. */
export async function getCode(
  browser: Browser,
  client: CodeClient,
  changes: Readonly<Record<string, string | undefined>> = {},
  connections: readonly number[] | "all" = "all",
): Promise<{ readonly code: string; readonly verifier: string }> {
  const { verifier, path } = attempt(client, changes);
  const page = await browser.get(path);
  const answer = page.status === 200 ? await decide(browser, page, "approve", connections) : page;
  const { code } = answer.location === "" ? {} : redirectParameters(answer);
  if (code === undefined) throw new Error(`no code: ${answer.status} ${answer.location} ${answer.text}`);
  return { code, verifier };
}

/** Response of the token, introspection or revocation endpoint. */
export interface EndpointAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** Posts a form with the client secret, or with client_id for a public client. */
export async function postAs(
  { issuer }: Pick<Installation, "issuer">,
  client: CodeClient,
  path: string,
  parameters: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<EndpointAnswer> {
  const { clientId, clientSecret } = client;
  const body = new URLSearchParams(parameters);
  if (clientSecret === undefined && !body.has("client_assertion")) body.set("client_id", clientId);
  const authorization = clientSecret === undefined ? {} : { authorization: basic({ clientId, clientSecret }) };
  const response = await fetch(issuer + path, { method: "POST", body, headers: { ...authorization, ...headers } });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(text) as Record<string, unknown> };
}

/** Redeems an authorization code. */
export function redeem(
  installation: Pick<Installation, "issuer">,
  client: CodeClient,
  { code, verifier }: { readonly code: string; readonly verifier: string },
  changes: Readonly<Record<string, string>> = {},
): Promise<EndpointAnswer> {
  const form = { grant_type: "authorization_code", code, redirect_uri: client.redirectUri, code_verifier: verifier };
  return postAs(installation, client, "/oauth2/token", { ...form, ...changes });
}

/** Redeems a refresh token. */
export function refresh(
  installation: Pick<Installation, "issuer">,
  client: CodeClient,
  refreshToken: unknown,
  changes: Readonly<Record<string, string>> = {},
): Promise<EndpointAnswer> {
  const form = { grant_type: "refresh_token", refresh_token: String(refreshToken) };
  return postAs(installation, client, "/oauth2/token", { ...form, ...changes });
}
