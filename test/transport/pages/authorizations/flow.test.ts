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

/** The callback path of some issuer. */
const ISSUER = callbackPathOf("https://vendor.example");
/** Gone astray: an address that leads nowhere (any more), or to what another browser began. */
const NOWHERE = { status: 404, text: expect.stringContaining("This address is no longer valid") as string };
const WAITING = { status: "needs_authorization", auth_method: "oauth2" };

describe("authorizing a connection", () => {
  test("leads from the address given out at create to a connection that is verified, with a page that says so", async () => {
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

  test("asks with PKCE, the resource and the issuer's redirect address, whatever the browser adds to ours", async () => {
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
  ])("tells who we are at %s without a login, with %s as the only redirect address", async (path, callbackPath) => {
    const { status, text } = await world.site.browser().get(path);
    expect([status, JSON.parse(text)]).toEqual([
      200,
      expect.objectContaining({
        client_id: world.site.publicUrl + path,
        redirect_uris: [world.site.publicUrl + callbackPath],
        token_endpoint_auth_method: "none",
      }),
    ]);
  });

  test.each(["", "x.json", "A".repeat(43), `${"A".repeat(43)}.json.json`, `${"A".repeat(42)}%41.json`])(
    "has no client document at /authorizations/client/%s",
    async (name) => {
      expect((await world.site.browser().get(`/authorizations/client/${name}`)).status).toBe(404);
    },
  );

  test("is written into the audit log, and no ticket, state or verifier lies in the database as it is", async () => {
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

  test("reports that the person denied access, and can be restarted", async () => {
    const { browser, connect, address, look } = await world.owner();
    const { id, path } = await connect();
    const refused = await browser.get(await comeBack(world.upstream, browser, path, false));
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("access_denied")]);
    expect(await look(id)).toMatchObject(WAITING);
    const done = await browser.get(await comeBack(world.upstream, browser, await address(id)));
    expect(done.status).toBe(200);
  });

  test("reports an unreachable vendor, and the address stays valid", async () => {
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

  test("again keeps the connection: its settings, its tools, and what authorized it until then", async () => {
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

  test("asks for further scopes when a call needs them; until then the others go on", async () => {
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

  test("takes the place of a key, which is gone with it", async () => {
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

describe("the address that is given out", () => {
  test("is not used up by a browser that looks ahead", async () => {
    const { browser, connect } = await world.owner();
    const { path } = await connect();
    for (let count = 0; count < 3; count += 1) expect((await browser.get(path)).status).toBe(200);
    expect((await browser.send("HEAD", path, {})).status).toBe(200);
    expect((await setOut(browser, path)).status).toBe(303);
  });

  test("works once", async () => {
    const { browser, connect } = await world.owner();
    const { path } = await connect();
    const [form] = formsOf((await browser.get(path)).text);
    const both = await Promise.all([1, 2].map(() => browser.post(path, form?.fields ?? {})));
    expect(both.map(({ status }) => status).toSorted()).toEqual([303, 404]);
    expect(await browser.get(path)).toMatchObject(NOWHERE);
  });

  test("works for ten minutes", async () => {
    const { browser, connect } = await world.owner();
    const { id, path } = await connect();
    await world.site.query("update authorization_request set expires_at = now() where connection_id = $1", [
      Number(id),
    ]);
    expect(await browser.get(path)).toMatchObject(NOWHERE);
  });

  test("leads nowhere in the browser of another account", async () => {
    const [mine, theirs] = [await world.owner(), await world.owner()];
    const { path } = await theirs.connect();
    const [own] = formsOf((await mine.browser.get((await mine.connect()).path)).text);
    expect(await mine.browser.get(path)).toMatchObject(NOWHERE);
    expect(await mine.browser.post(path, own?.fields ?? {})).toMatchObject(NOWHERE);
    expect((await setOut(theirs.browser, path)).status).toBe(303);
  });

  test("has people log in first, and come back", async () => {
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

  test("is set out from by our own page alone", async () => {
    const { browser, connect } = await world.owner();
    const { path } = await connect();
    const [form] = formsOf((await browser.get(path)).text);
    const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    expect((await browser.post(path, form?.fields ?? {}, foreign)).status).toBe(403);
    expect((await browser.post(path, {})).status).toBe(403);
    expect((await setOut(browser, path)).status).toBe(303);
  });

  test("is not disclosed to other sites", async () => {
    const { browser, connect } = await world.owner();
    const { path } = await connect();
    const page = await browser.get(path);
    const away = await setOut(browser, path);
    expect([page, away].map(({ headers }) => headers.get("referrer-policy"))).toEqual(["same-origin", "same-origin"]);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  });

  test.each(["", "x", "callback/", "A".repeat(43), "../account"])("«%s» leads nowhere", async (ticket) => {
    const { browser } = await world.owner();
    const { status } = await browser.send("GET", `/authorizations/${ticket}`, {});
    expect(status === 404 || ticket === "../account").toBe(true);
  });
});

describe("the way back", () => {
  test("is valid once", async () => {
    const { browser, connect } = await world.owner();
    const back = await comeBack(world.upstream, browser, (await connect()).path);
    const both = await Promise.all([1, 2].map(() => browser.get(back)));
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 404]);
    expect(await browser.get(back)).toMatchObject(NOWHERE);
  });

  test("leads nowhere in another account's browser, in another of the same account, and logged out", async () => {
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

  test("with a state that nobody gave out, twice or not at all leads nowhere", async () => {
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

  test("with the code of another flow is refused by the vendor, because the verifier is not its own", async () => {
    const { browser, connect, look } = await world.owner();
    const [one, other] = [await connect(), await connect()];
    const mine = new URL(await comeBack(world.upstream, browser, one.path), world.site.url);
    const foreign = new URL(await comeBack(world.upstream, browser, other.path), world.site.url);
    mine.searchParams.set("code", foreign.searchParams.get("code") ?? "");
    expect((await browser.get(mine.pathname + mine.search)).status).toBe(400);
    expect(await look(one.id)).toMatchObject(WAITING);
  });

  test.each([
    ["of another issuer", (address: URL) => address.searchParams.set("iss", "https://evil.example")],
    ["without the issuer that was promised", (address: URL) => address.searchParams.delete("iss")],
  ])("%s sends the code nowhere", async (_, change) => {
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

  test("too late leads nowhere", async () => {
    const { browser, connect } = await world.owner();
    const { id, path } = await connect();
    const back = await comeBack(world.upstream, browser, path);
    await world.site.query("update authorization_request set expires_at = now() where connection_id = $1", [
      Number(id),
    ]);
    expect(await browser.get(back)).toMatchObject(NOWHERE);
  });

  test("finds nothing when the connection was deleted meanwhile", async () => {
    const { browser, connect, call } = await world.owner();
    const { id, path } = await connect();
    const back = await comeBack(world.upstream, browser, path);
    await call("DELETE", `/api/v1/mcp-servers/${id}`);
    expect(await browser.get(back)).toMatchObject(NOWHERE);
  });

  test("changes nothing if the connection's destination changed meanwhile", async () => {
    const { browser, connect, call, look } = await world.owner();
    const { id, path } = await connect();
    const back = await comeBack(world.upstream, browser, path);
    await call("PUT", `/api/v1/mcp-servers/${id}`, { config: { url: `${world.upstream.url}/other` } });
    expect(await browser.get(back)).toMatchObject({ status: 409 });
    expect(await look(id)).toMatchObject({ auth_method: "none", config: { url: `${world.upstream.url}/other` } });
  });
});

test("metadata that points inside is not followed", async () => {
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
