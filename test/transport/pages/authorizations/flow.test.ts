import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callbackPathOf, documentPathOf } from "../../../../src/integrations/oauth/client-document.ts";
import { formsOf } from "../../../support/form-browser.ts";
import { until } from "../../../support/until.ts";
import { comeBack, setOut, startWorld, type World } from "./authorizing.ts";

let world: World;

beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world?.close());

/** Callback path of one issuer. */
const ISSUER = callbackPathOf("https://vendor.example");
/** Response for an invalid or used link, and for a flow that another browser started. */
const NOWHERE = { status: 404, text: expect.stringContaining("This address is no longer valid") as string };
const WAITING = { status: "needs_authorization", auth_method: "oauth2" };

describe("authorizing a connection", () => {
  test("the link in the create response leads to a verified connection and a confirmation page", async () => {
    const { browser, connect, look, isVerified, person } = await world.owner();
    const { id, path } = await connect();
    expect(await look(id)).toMatchObject({ ...WAITING, status_reason: "Its owner has not authorized it yet." });
    const page = await browser.get(path);
    expect(page.text).toContain(`Connect “Acme” to ${new URL(world.upstream.url).host}?`);
    expect(page.text).toContain(person.email);
    const done = await browser.get(await comeBack(world.upstream, browser, path));
    expect([done.status, done.text]).toEqual([200, expect.stringContaining("“Acme” is authorized")]);
    expect(done.text).toContain(`href="/connections/${id}"`);
    await until(() => isVerified(id));
  });

  test("an owner authorizes a connection of an organization, and nobody else can", async () => {
    const owner = await world.owner();
    const { browser, connect, look, isVerified } = await owner.organization();
    const { id, path } = await connect();
    expect(await look(id)).toMatchObject(WAITING);
    const stranger = await world.owner();
    expect(await stranger.browser.get(path)).toMatchObject(NOWHERE);
    const done = await browser.get(await comeBack(world.upstream, browser, path));
    expect([done.status, done.text]).toEqual([200, expect.stringContaining("“Acme” is authorized")]);
    await until(() => isVerified(id));
  });

  test("the authorization request uses PKCE, the resource and the callback of the issuer, and ignores parameters from the browser", async () => {
    const { browser, connect } = await world.owner();
    const { path } = await connect();
    const page = await browser.get(`${path}?redirect_uri=https://evil.example/&state=mine`);
    const [form] = formsOf(page.text);
    const { location } = await browser.post(path, { ...form?.fields, redirect_uri: "https://evil.example/" });
    const asked = new URL(String(location));
    expect(asked.origin).toBe(world.upstream.vendor.origin);
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      redirect_uri: `${world.site.publicUrl}${callbackPathOf(world.upstream.vendor.issuer)}`,
      resource: world.upstream.url,
      code_challenge_method: "S256",
      state: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  test.each([
    ["/authorizations/client.json", "/authorizations/callback"],
    [documentPathOf(ISSUER), ISSUER],
  ])(
    "serves the client metadata document %s without a login, with %s as the only redirect URI",
    async (path, callbackPath) => {
      const { status, text } = await world.site.browser().get(path);
      expect([status, JSON.parse(text)]).toEqual([
        200,
        expect.objectContaining({
          client_id: world.site.publicUrl + path,
          redirect_uris: [world.site.publicUrl + callbackPath],
          token_endpoint_auth_method: "none",
        }),
      ]);
    },
  );

  test.each(["", "x.json", "A".repeat(43), `${"A".repeat(43)}.json.json`, `${"A".repeat(42)}%41.json`])(
    "returns 404 for the client metadata document /authorizations/client/%s",
    async (name) => {
      expect((await world.site.browser().get(`/authorizations/client/${name}`)).status).toBe(404);
    },
  );

  test("writes an audit event and stores no link ticket or state in plain text", async () => {
    const { browser, connect, person } = await world.owner();
    const { id, path } = await connect();
    const back = await comeBack(world.upstream, browser, path);
    const state = new URL(back, world.site.url).searchParams.get("state") ?? "";
    const rows = JSON.stringify(await world.site.query("select * from authorization_request"));
    expect(rows).not.toContain(path.split("/").at(-1));
    expect(rows).not.toContain(state);
    await browser.get(back);
    const events = await world.site.query(
      "select actor_account_id, actor_client_id from audit_event where action = 'connection.authorize' and object_id = $1",
      [id],
    );
    expect(events).toEqual([
      { actor_account_id: person.accountId, actor_client_id: expect.stringMatching(/^session_/) },
    ]);
  });

  test("reports that the person denied access, and lets the person start again", async () => {
    const { browser, connect, address, look } = await world.owner();
    const { id, path } = await connect();
    const refused = await browser.get(await comeBack(world.upstream, browser, path, false));
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("access_denied")]);
    expect(await look(id)).toMatchObject(WAITING);
    const done = await browser.get(await comeBack(world.upstream, browser, await address(id)));
    expect(done.status).toBe(200);
  });

  test("reports an unreachable vendor and keeps the link valid", async () => {
    const { browser, connect } = await world.owner();
    const { path } = await connect();
    const { documents } = world.upstream.vendor;
    const kept = new Map(documents);
    documents.clear();
    const failed = await setOut(browser, path);
    for (const [name, document] of kept) documents.set(name, document);
    expect([failed.status, failed.text]).toEqual([400, expect.stringContaining("Try again")]);
    expect((await setOut(browser, path)).status).toBe(303);
  });

  test("reauthorization keeps the connection settings, and keeps the connection active until it completes", async () => {
    const { browser, connect, address, look, isVerified, call } = await world.owner();
    const { id, path } = await connect();
    await browser.get(await comeBack(world.upstream, browser, path));
    await until(() => isVerified(id));
    await call("PUT", `/api/v1/mcp-servers/${id}`, { name: "Renamed", access_type: "read" });
    const back = await comeBack(world.upstream, browser, await address(id));
    expect(await look(id)).toMatchObject({ status: "active" });
    await browser.get(back);
    await until(() => isVerified(id));
    expect(await look(id)).toMatchObject({ name: "Renamed", auth_method: "oauth2", oauth2_scopes: ["mcp.read"] });
  });

  test("requests additional scopes when a tool requires them, while other tools keep working", async () => {
    const { browser, connect, address, look, isVerified, useTool } = await world.owner();
    const { id, path } = await connect();
    await browser.get(await comeBack(world.upstream, browser, path));
    await until(() => isVerified(id));
    const refused = await useTool("administer");
    expect([refused.isError, refused.text]).toEqual([true, expect.stringContaining("tools.admin")]);
    await until(async () => (await look(id))["status"] === "needs_authorization");
    expect(await isVerified(id)).toBe(true);
    expect((await useTool("whoami")).isError).toBe(false);
    const again = await address(id);
    await browser.get(await comeBack(world.upstream, browser, again));
    expect(world.upstream.vendor.authorizations.at(-1)?.get("scope")).toContain("tools.admin");
    await until(() => isVerified(id));
    expect(await look(id)).toMatchObject({ status: "active" });
    expect((await useTool("administer")).isError).toBe(false);
  });

  test("authorization deletes the API key of the connection and replaces it as the authentication method", async () => {
    const { browser, connect, address, look, isVerified } = await world.owner();
    const configuration = { url: world.upstream.url, api_token: "old-key" };
    const { id } = await connect({ auth_method: "api_key", configuration });
    expect(await look(id)).toMatchObject({ auth_method: "api_key" });
    await browser.get(await comeBack(world.upstream, browser, await address(id)));
    expect(await look(id)).toMatchObject({ auth_method: "oauth2" });
    await until(() => isVerified(id));
    const [row] = await world.site.query("select has_credential, sealed_secrets from connection where id = $1", [
      Number(id),
    ]);
    expect(row).toEqual({ has_credential: false, sealed_secrets: null });
  });
});

describe("authorization link", () => {
  test("opening the link by GET or HEAD does not consume it", async () => {
    const { browser, connect } = await world.owner();
    const { path } = await connect();
    for (let count = 0; count < 3; count += 1) expect((await browser.get(path)).status).toBe(200);
    expect((await browser.send("HEAD", path, {})).status).toBe(200);
    expect((await setOut(browser, path)).status).toBe(303);
  });

  test("accepts exactly one of two concurrent submissions of a link, and returns 404 afterwards", async () => {
    const { browser, connect } = await world.owner();
    const { path } = await connect();
    const [form] = formsOf((await browser.get(path)).text);
    const both = await Promise.all([1, 2].map(() => browser.post(path, form?.fields ?? {})));
    expect(both.map(({ status }) => status).toSorted()).toEqual([303, 404]);
    expect(await browser.get(path)).toMatchObject(NOWHERE);
  });

  test("returns 404 for an expired link", async () => {
    const { browser, connect } = await world.owner();
    const { id, path } = await connect();
    await world.site.query("update authorization_request set expires_at = now() where connection_id = $1", [
      Number(id),
    ]);
    expect(await browser.get(path)).toMatchObject(NOWHERE);
  });

  test("returns 404 for a link of another account", async () => {
    const [mine, theirs] = [await world.owner(), await world.owner()];
    const { path } = await theirs.connect();
    const [own] = formsOf((await mine.browser.get((await mine.connect()).path)).text);
    expect(await mine.browser.get(path)).toMatchObject(NOWHERE);
    expect(await mine.browser.post(path, own?.fields ?? {})).toMatchObject(NOWHERE);
    expect((await setOut(theirs.browser, path)).status).toBe(303);
  });

  test("redirects a browser without a login session to the login page and then back to the link", async () => {
    const { connect, person } = await world.owner();
    const { path } = await connect();
    const elsewhere = world.site.browser();
    expect(await elsewhere.get(path)).toMatchObject({
      status: 303,
      location: `/login?${new URLSearchParams({ return_to: path }).toString()}`,
    });
    expect((await elsewhere.logIn(person.email, person.password, path)).location).toBe(path);
    expect((await setOut(elsewhere, path)).status).toBe(303);
  });

  test("accepts the form of the link only from our page and with a valid CSRF token", async () => {
    const { browser, connect } = await world.owner();
    const { path } = await connect();
    const [form] = formsOf((await browser.get(path)).text);
    const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    expect((await browser.post(path, form?.fields ?? {}, foreign)).status).toBe(403);
    expect((await browser.post(path, {})).status).toBe(403);
    expect((await setOut(browser, path)).status).toBe(303);
  });

  test("sends no Referer header with the link to other sites", async () => {
    const { browser, connect } = await world.owner();
    const { path } = await connect();
    const page = await browser.get(path);
    const away = await setOut(browser, path);
    expect([page, away].map(({ headers }) => headers.get("referrer-policy"))).toEqual(["same-origin", "same-origin"]);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  });

  test.each(["", "x", "callback/", "A".repeat(43), "../account"])(
    'returns 404 for the invalid authorization path "%s"',
    async (ticket) => {
      const { browser } = await world.owner();
      const { status } = await browser.send("GET", `/authorizations/${ticket}`, {});
      expect(status === 404 || ticket === "../account").toBe(true);
    },
  );
});

describe("authorization callback", () => {
  test("accepts exactly one of two concurrent callbacks, and returns 404 afterwards", async () => {
    const { browser, connect } = await world.owner();
    const back = await comeBack(world.upstream, browser, (await connect()).path);
    const both = await Promise.all([1, 2].map(() => browser.get(back)));
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 404]);
    expect(await browser.get(back)).toMatchObject(NOWHERE);
  });

  test("rejects a callback in the browser of another account, in another session of the same account and without a login session", async () => {
    const [mine, theirs] = [await world.owner(), await world.owner()];
    const { id, path } = await mine.connect();
    const back = await comeBack(world.upstream, mine.browser, path);
    const redeemed = world.upstream.vendor.tokenRequests.length;
    const second = world.site.browser();
    await second.logIn(mine.person.email, mine.person.password);
    expect(await theirs.browser.get(back)).toMatchObject(NOWHERE);
    expect(await second.get(back)).toMatchObject(NOWHERE);
    expect((await world.site.browser().get(back)).status).toBe(403);
    expect(world.upstream.vendor.tokenRequests).toHaveLength(redeemed);
    expect(await mine.look(id)).toMatchObject(WAITING);
    expect((await mine.browser.get(back)).status).toBe(200);
  });

  test("returns 404 for a callback with a missing, unknown or repeated state", async () => {
    const { browser, connect } = await world.owner();
    const back = new URL(await comeBack(world.upstream, browser, (await connect()).path), world.site.url);
    const [state = "", code = ""] = [back.searchParams.get("state"), back.searchParams.get("code")].map(String);
    for (const query of [
      new URLSearchParams({ code }),
      new URLSearchParams({ code, state: "A".repeat(43) }),
      new URLSearchParams([
        ["code", code],
        ["state", state],
        ["state", state],
      ]),
    ])
      expect(await browser.get(`/authorizations/callback?${query.toString()}`)).toMatchObject(NOWHERE);
  });

  test("fails for a callback with the code of another flow, because the PKCE verifier does not match", async () => {
    const { browser, connect, look } = await world.owner();
    const [one, other] = [await connect(), await connect()];
    const mine = new URL(await comeBack(world.upstream, browser, one.path), world.site.url);
    const foreign = new URL(await comeBack(world.upstream, browser, other.path), world.site.url);
    mine.searchParams.set("code", foreign.searchParams.get("code") ?? "");
    expect((await browser.get(mine.pathname + mine.search)).status).toBe(400);
    expect(await look(one.id)).toMatchObject(WAITING);
  });

  test.each([
    ["with the iss of another issuer", (address: URL) => address.searchParams.set("iss", "https://evil.example")],
    ["without the iss that the metadata promises", (address: URL) => address.searchParams.delete("iss")],
  ])("sends the code to no server when the callback arrives %s", async (_, change) => {
    const { browser, connect, look } = await world.owner();
    const { id, path } = await connect();
    const back = new URL(await comeBack(world.upstream, browser, path), world.site.url);
    const redeemed = world.upstream.vendor.tokenRequests.length;
    change(back);
    const refused = await browser.get(back.pathname + back.search);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("nothing was sent there")]);
    expect(world.upstream.vendor.tokenRequests).toHaveLength(redeemed);
    expect(await look(id)).toMatchObject(WAITING);
  });

  test("returns 404 for a callback of an expired authorization", async () => {
    const { browser, connect } = await world.owner();
    const { id, path } = await connect();
    const back = await comeBack(world.upstream, browser, path);
    await world.site.query("update authorization_request set expires_at = now() where connection_id = $1", [
      Number(id),
    ]);
    expect(await browser.get(back)).toMatchObject(NOWHERE);
  });

  test("returns 404 for a callback after the connection was deleted", async () => {
    const { browser, connect, call } = await world.owner();
    const { id, path } = await connect();
    const back = await comeBack(world.upstream, browser, path);
    await call("DELETE", `/api/v1/mcp-servers/${id}`);
    expect(await browser.get(back)).toMatchObject(NOWHERE);
  });

  test("changes nothing when the URL of the connection changed before the callback", async () => {
    const { browser, connect, call, look } = await world.owner();
    const { id, path } = await connect();
    const back = await comeBack(world.upstream, browser, path);
    await call("PUT", `/api/v1/mcp-servers/${id}`, { config: { url: `${world.upstream.url}/other` } });
    expect(await browser.get(back)).toMatchObject({ status: 409 });
    expect(await look(id)).toMatchObject({ auth_method: "none", config: { url: `${world.upstream.url}/other` } });
  });
});

test("does not fetch OAuth metadata from private network addresses", async () => {
  let asked = 0;
  const inside = createServer((_, response) => {
    asked += 1;
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await once(inside, "listening");
  const secret = `http://127.0.0.1:${(inside.address() as AddressInfo).port}`;
  const own = await startWorld();
  try {
    const { browser, connect } = await own.owner();
    for (const [path, document] of own.upstream.documents)
      if (typeof document === "object")
        own.upstream.documents.set(path, { ...document, authorization_servers: [secret] });
    const refused = await setOut(browser, (await connect()).path);
    expect([refused.status, asked]).toEqual([400, 0]);
    expect(refused.text).toContain("127.0.0.1");
  } finally {
    inside.close();
    await own.close();
  }
});
