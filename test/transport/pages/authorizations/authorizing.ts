import { isJsonObject, type JsonObject } from "../../../../src/json.ts";
import { type FormBrowser, formsOf, fromOwnPage, type PageAnswer } from "../../../support/form-browser.ts";
import { type OAuthUpstream, startOAuthUpstream } from "../../../support/oauth-upstream.ts";
import type { VendorOptions } from "../../../support/vendor.ts";
import { type Person, type Site, startSite } from "../../../identity/login/site.ts";

/** The service together with an MCP server whose connections their owner authorizes through OAuth. */
export interface World {
  readonly site: Site;
  readonly upstream: OAuthUpstream;
  /** A browser with a login session. */
  owner(): Promise<Owner>;
  close(): Promise<void>;
}

/** An account with a browser and an API token. */
export interface Owner {
  readonly person: Person;
  readonly browser: FormBrowser;
  call(
    method: string,
    path: string,
    body?: JsonObject,
    headers?: Readonly<Record<string, string>>,
  ): Promise<{ readonly status: number; readonly body: JsonObject }>;
  /**
   * Creates a connection that waits for authorization, unless `more` overrides it. Returns its ID and the path of its
   * authorization link.
   */
  connect(more?: JsonObject): Promise<{ readonly id: string; readonly path: string }>;
  /** The same person and browser, acting for a new organization. */
  organization(): Promise<Owner>;
  /** Returns the path of a new authorization link for the connection. */
  address(id: string): Promise<string>;
  /** Returns the connection in its detailed form. */
  look(id: string): Promise<JsonObject>;
  /** Whether the service verified the connection's authorization. */
  isVerified(id: string): Promise<boolean>;
  /** Calls a tool over MCP. Returns the text of the result and whether the result is an error. */
  useTool(name: string): Promise<{ readonly isError: boolean; readonly text: string }>;
}

/**
 * Starts the service and the MCP server. `OUTBOUND_ALLOW` in the settings lists additional hosts that the service is
 * allowed to reach.
 */
export async function startWorld(
  options: VendorOptions = {},
  settings: Readonly<Record<string, string>> = {},
): Promise<World> {
  const upstream = await startOAuthUpstream(options);
  const { OUTBOUND_ALLOW: others, ...more } = settings;
  const allowed = [...upstream.hosts, ...(others === undefined ? [] : [others])];
  const site = await startSite({ OUTBOUND_ALLOW: allowed.join(","), ...more });
  return {
    site,
    upstream,
    async owner() {
      const { browser, person } = await site.loggedIn();
      return asOwner(site, browser, person, upstream.url);
    },
    async close() {
      await site.close();
      await upstream.close();
    },
  };
}

/** Returns a logged-in browser and a session token for the API. */
async function asOwner(
  site: Site,
  browser: FormBrowser,
  person: Person,
  url: string,
  accountId = person.accountId,
): Promise<Owner> {
  const headers = { ...fromOwnPage(site.publicUrl), "content-type": "application/json" };
  const { text } = await browser.send("POST", "/session/token", headers, JSON.stringify({ account_id: accountId }));
  const { access_token: token } = JSON.parse(text) as { access_token: string };

  const owner: Owner = {
    person,
    browser,
    async call(method, path, body, headers = {}) {
      const response = await fetch(site.url + path, {
        method,
        headers: { ...headers, authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      const answer: unknown = await response.json();
      return { status: response.status, body: isJsonObject(answer) ? answer : {} };
    },
    async connect(more = {}) {
      const draft = { server_type: "mcp", name: "Acme", auth_method: "oauth2", configuration: { url }, ...more };
      const { status, body } = await owner.call("POST", "/api/v1/mcp-servers", draft);
      if (status !== 201) throw new Error(`creating answered ${status}: ${JSON.stringify(body)}`);
      return { id: String(body["server_id"]), path: pathIn(body["authorization_url"]) };
    },
    async organization() {
      const { body } = await owner.call("POST", "/api/v1/organizations", { name: "Acme" });
      const { data } = body;
      if (!isJsonObject(data)) throw new Error(`there is no organization: ${JSON.stringify(body)}`);
      return asOwner(site, browser, person, url, String(data["id"]));
    },
    async address(id) {
      const { status, body } = await owner.call("POST", `/api/v1/mcp-servers/${id}/authorization`);
      const { data } = body;
      if (status !== 200 || !isJsonObject(data)) throw new Error(`authorizing answered ${status}`);
      return new URL(String(data["authorization_url"])).pathname;
    },
    async look(id) {
      const { body } = await owner.call("GET", `/api/v1/mcp-servers/${id}?view=detailed`);
      const { connection } = body;
      if (!isJsonObject(connection)) throw new Error(`there is no connection ${id}: ${JSON.stringify(body)}`);
      return connection;
    },
    async useTool(name) {
      const { sessionId } = (await owner.call("POST", "/mcp/initialize", { protocolVersion: "2025-03-26" })).body;
      const headers = { "x-session-id": String(sessionId) };
      const { body } = await owner.call("POST", "/mcp/tools/call", { name }, headers);
      return { isError: body["isError"] === true, text: JSON.stringify(body["content"]) };
    },
    async isVerified(id) {
      const { data } = (await owner.call("GET", `/api/v1/mcp-servers/${id}`)).body;
      return isJsonObject(data) && data["api_key_verification_status"] === "verified";
    },
  };
  return owner;
}

function pathIn(url: unknown): string {
  return typeof url === "string" ? new URL(url).pathname : "";
}

/** Opens an authorization link and submits its form. Returns the response. */
export async function setOut(browser: FormBrowser, path: string): Promise<PageAnswer> {
  const page = await browser.get(path);
  const form = formsOf(page.text).find(({ action }) => action === path);
  if (page.status !== 200 || form === undefined) throw new Error(`${path} answered ${page.status}: ${page.text}`);
  return browser.post(form.action, form.fields);
}

/**
 * Submits the authorization link, logs in at the vendor and consents. Returns the redirect URI of the callback without
 * opening it.
 */
export async function comeBack(
  upstream: OAuthUpstream,
  browser: FormBrowser,
  path: string,
  consents = true,
): Promise<string> {
  const { status, location, text } = await setOut(browser, path);
  if (status !== 303 || location === null) throw new Error(`setting out answered ${status}: ${text}`);
  const back = new URL(await upstream.vendor.logIn(location, { consents }));
  return back.pathname + back.search;
}
