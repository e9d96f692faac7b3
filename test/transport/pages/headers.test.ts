import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { contentSecurityPolicy } from "../../../src/transport/pages/answer-page.ts";
import { html } from "../../../src/transport/pages/html.ts";
import type { FormBrowser, PageAnswer } from "../../support/form-browser.ts";
import { type Site, startSite } from "../../identity/login/site.ts";

let site: Site;
let person: FormBrowser;
const APP = "https://app.example.com";

beforeAll(async () => {
  site = await startSite({ CORS_ORIGINS: APP });
  person = (await site.loggedIn()).browser;
});
afterAll(() => site.close());

const STRICT = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'";

/** Every page that is reachable without a login provider. */
const PAGES = ["/login", "/login?return_to=/x", "/login?logged_out", "/logout", "/account", "/account/password"];

async function page(path: string): Promise<PageAnswer> {
  return path.startsWith("/login") ? site.browser().get(path) : person.get(path);
}

describe.each(PAGES)("%s", (path) => {
  test("the page sends no-store and headers that forbid scripts, framing and forms to other sites", async () => {
    const { status, headers } = await page(path);
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": STRICT,
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      "referrer-policy": "same-origin",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "permissions-policy": expect.stringContaining("camera=()"),
      "cache-control": "no-store",
    });
  });

  test("the page contains no inline script, inline style or event handler", async () => {
    const { text } = await page(path);
    expect(text).toMatch(/^<!doctype html>\s*<html lang="en">/);
    expect(text).not.toMatch(/<script|<style|\sstyle=|\son[a-z]+=|javascript:/i);
    expect(text.match(/<title>[^<]+<\/title>/g)).toHaveLength(1);
    expect(text.match(/<h1>/g)).toHaveLength(1);
  });

  test("the page sends no CORS headers, even to an origin that is allowed to call the API", async () => {
    const answer = await person.get(path, { origin: APP });
    const preflight = await person.send("OPTIONS", path, { origin: APP, "access-control-request-method": "POST" });
    for (const { headers } of [answer, preflight])
      expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
  });
});

describe("session endpoints", () => {
  test.each([
    ["GET", "/session"],
    ["POST", "/session/token"],
    ["DELETE", "/session"],
  ])("%s %s sends no CORS headers and rejects changes from another origin", async (method, path) => {
    const asked = { origin: APP, "access-control-request-method": method };
    const preflight = await person.send("OPTIONS", path, asked);
    const answer = await person.send(method, path, { origin: APP, "content-type": "application/json" });
    if (method !== "GET") expect(answer.status).toBe(403);
    expect(preflight.status).toBe(405);
    for (const { headers } of [answer, preflight]) {
      expect(headers.get("access-control-allow-origin")).toBeNull();
      expect(headers.get("access-control-allow-credentials")).toBeNull();
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  test("the API sends CORS headers only to the configured origin and never allows credentials", async () => {
    const answer = await person.get("/api/v1/mcp-servers", { origin: APP });
    expect(answer.headers.get("access-control-allow-origin")).toBe(APP);
    expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
    const other = await person.get("/api/v1/mcp-servers", { origin: "https://evil.example" });
    expect(other.headers.get("access-control-allow-origin")).toBeNull();
  });

  test.each(["/api/v1/mcp-servers", "/mcp", "/oauth2/token"])(
    "a session cookie without a token returns 401 at %s",
    async (path) => {
      const { status } = await person.send(path === "/api/v1/mcp-servers" ? "GET" : "POST", path, {
        "content-type": "application/json",
        origin: site.url,
      });
      expect(status).toBe(401);
    },
  );
});

test("serves the style sheet with its content type, and as immutable only for the current version", async () => {
  const address = /href="(\/assets\/pages\.css\?v=[0-9a-f]{12})"/.exec((await page("/login")).text)?.[1] ?? "";
  const { status, headers, text } = await site.browser().get(address);
  expect([status, headers.get("content-type")]).toEqual([200, "text/css; charset=utf-8"]);
  expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(text).toContain("color-scheme");
  const other = await site.browser().get("/assets/pages.css?v=000000000000");
  expect(other.headers.get("cache-control")).toBe("no-cache");
});

test("a 404 response forbids all content through its content security policy", async () => {
  const { status, headers } = await site.browser().get("/nowhere");
  expect([status, headers.get("content-security-policy"), headers.get("x-content-type-options")]).toEqual([
    404,
    "default-src 'none'; frame-ancestors 'none'",
    "nosniff",
  ]);
});

test("HEAD returns the headers of GET without a body", async () => {
  const [get, head] = [await site.browser().get("/login"), await site.browser().send("HEAD", "/login", {})];
  expect([head.status, head.text]).toEqual([200, ""]);
  for (const name of ["content-type", "content-security-policy", "content-length"])
    expect(head.headers.get(name)).toBe(get.headers.get(name));
});

test("sends Strict-Transport-Security on every response over https and on none over http", async () => {
  const secure = await startSite({ PUBLIC_URL: "https://patchbay.example.com", CORS_ORIGINS: APP });
  try {
    const paths = ["/login", "/", "/nowhere", "/healthz", "/api/v1/mcp-servers", "/oauth2/token", "/assets/pages.css"];
    for (const path of [...paths, "/.well-known/oauth-authorization-server", "/mcp"]) {
      for (const headers of [{}, { origin: APP }]) {
        const answer = await secure.browser().get(path, headers);
        expect([path, answer.headers.get("strict-transport-security")]).toEqual([path, "max-age=31536000"]);
      }
      expect((await site.browser().get(path)).headers.get("strict-transport-security")).toBeNull();
    }
  } finally {
    await secure.close();
  }
});

describe("content security policy", () => {
  test("allows forms to the given client origins and rejects values that would add other sources", () => {
    expect(contentSecurityPolicy(["https://app.example.com", "cursor:"])).toBe(
      `${STRICT} https://app.example.com cursor:`,
    );
    for (const target of ["https://a.example; script-src *", "'unsafe-inline'", "*", "https://a.example/path", ""])
      expect(() => contentSecurityPolicy([target])).toThrow(TypeError);
  });

  test("omits form-action on the login page of an authorization request", async () => {
    const { headers } = await site.browser().get("/login?return_to=%2Foauth2%2Fauthorize");
    expect(headers.get("content-security-policy")).toBe(STRICT.replace("; form-action 'self'", ""));
  });
});

describe("HTML templates", () => {
  test.each(["<script>", `" onfocus="x`, "' x", "&lt;", "</title>"])("escapes %j in text and in attributes", (text) => {
    const written = html`<p title="${text}">${text}</p>`.text;
    expect(written).not.toContain(text);
    expect(written.match(/[<>"]/g)?.join("")).toBe('<""><>');
  });

  test("inserts trusted HTML unescaped, joins list items and omits undefined values", () => {
    const items = ["a<b", html`<b>c</b>`];
    expect(html`<p>${items}${undefined}${3}</p>`.text).toBe("<p>a&lt;b<b>c</b>3</p>");
  });
});
