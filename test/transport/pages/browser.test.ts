// @module-tag browser
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  collectComplaints,
  findAccessibilityFaults,
  type HeadlessBrowser,
  startBrowser,
} from "../../support/browser.ts";
import { type Person, type Site, startSite } from "../../identity/login/site.ts";

let site: Site;
let browser: HeadlessBrowser;

beforeAll(async () => {
  // An unreachable login provider: its button and its error page are still pages of this service.
  site = await startSite({
    OIDC_ISSUER: "http://127.0.0.1:1",
    OIDC_CLIENT_ID: "patchbay",
    OIDC_CLIENT_SECRET: "not a secret",
  });
  browser = await startBrowser();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await site?.close();
});

async function logIn(page: Page, { email, password }: Person, returnTo = "/account"): Promise<void> {
  await page.goto(`${site.url}/login?return_to=${encodeURIComponent(returnTo)}`);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}

/** Opens each page of the service. */
const PAGES: [name: string, open: (page: Page) => Promise<unknown>][] = [
  ["the login page", (page) => page.goto(`${site.url}/login`)],
  [
    "the login page after a wrong password",
    async (page) => logIn(page, { ...(await site.newPerson()), password: "wrong" }),
  ],
  ["the login page after logging out", (page) => page.goto(`${site.url}/login?logged_out`)],
  ["the account page", async (page) => logIn(page, await site.newPerson())],
  ["the page for a new password", async (page) => logIn(page, await site.newPerson(), "/account/password")],
  [
    "the page for a new password after a mistake",
    async (page) => {
      await logIn(page, await site.newPerson(), "/account/password");
      await page.getByLabel("Current password").fill("wrong");
      await page.getByLabel("New password", { exact: true }).fill("short");
      await page.getByLabel("New password again").fill("short");
      await page.getByRole("button", { name: "Change the password" }).click();
    },
  ],
  ["the page to log out", async (page) => logIn(page, await site.newPerson(), "/logout")],
  ["the login page while the provider is unreachable", (page) => page.goto(`${site.url}/login/external`)],
  ["the error page of an external login", (page) => page.goto(`${site.url}/login/external/callback`)],
];

describe.each(["light", "dark"] as const)("pages in a %s browser", (colorScheme) => {
  test.each(PAGES)(
    "%s passes the accessibility check without a violation of its content security policy",
    async (_name, open) => {
      const page = await browser.newPage({ colorScheme, viewport: { width: 360, height: 640 } });
      const complaints = collectComplaints(page);
      await open(page);
      expect(await findAccessibilityFaults(page)).toEqual([]);
      expect(complaints.filter((text) => !/the server responded with a status of (4\d\d|503)/.test(text))).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
      expect(await page.evaluate("getComputedStyle(document.querySelector('main')).borderRadius")).toBe("8px");
      await page.context().close();
    },
  );
});

test("a person logs in, changes the password and logs out with the keyboard only and without JavaScript", async () => {
  const person = await site.newPerson();
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(`${site.url}/account`);
  expect(new URL(page.url()).pathname).toBe("/login");
  await page.keyboard.press("Tab");
  await page.keyboard.type(person.email);
  await page.keyboard.press("Tab");
  await page.keyboard.type(person.password);
  await page.keyboard.press("Enter");
  await page.getByText(person.email).waitFor();
  expect(new URL(page.url()).pathname).toBe("/account");

  const next = "four unrelated words here";
  await page.getByRole("link", { name: "Change your password" }).click();
  await page.getByLabel("Current password").fill(person.password);
  await page.getByLabel("New password", { exact: true }).fill(next);
  await page.getByLabel("New password again").fill(next);
  await page.getByRole("button", { name: "Change the password" }).click();
  await page.getByRole("status").filter({ hasText: "Your password was changed" }).waitFor();

  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("status").filter({ hasText: "You are logged out." }).waitFor();
  await page.goto(`${site.url}/account`);
  expect(new URL(page.url()).pathname).toBe("/login");
  await logIn(page, { ...person, password: next });
  await page.getByText(person.email).waitFor();
});

test("announces a form error to screen readers and links the error to its field", async () => {
  const page = await browser.newPage();
  await logIn(page, await site.newPerson(), "/account/password");
  await page.getByLabel("Current password").fill("whatever");
  await page.getByLabel("New password", { exact: true }).fill("four unrelated words here");
  await page.getByLabel("New password again").fill("four unrelated words there");
  await page.getByRole("button", { name: "Change the password" }).click();
  await page.getByRole("alert").filter({ hasText: "differ" }).waitFor();
  const field = page.getByLabel("New password again");
  expect([await field.getAttribute("aria-invalid"), await field.getAttribute("aria-describedby")]).toEqual([
    "true",
    "error",
  ]);
  expect(await page.title()).toMatch(/^Error: /);
});

describe("cross-site protection in the browser", () => {
  let foreign: Page;
  let person: Person;
  /** Opens a page on another port in the same browser: another origin of the same site, with the same cookies. */
  let evil: string;
  let close: () => void;

  beforeAll(async () => {
    const { createServer } = await import("node:http");
    const server = createServer((_request, response) => {
      response.setHeader("content-type", "text/html").end("<!doctype html><title>evil</title><body></body>");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    evil = `http://127.0.0.1:${typeof address === "object" ? String(address?.port) : ""}`;
    close = () => {
      server.closeAllConnections();
      server.close();
    };
    person = await site.newPerson();
    foreign = await browser.newPage();
    await logIn(foreign, person);
    await foreign.getByText(person.email).waitFor();
    await foreign.goto(evil);
  });
  afterAll(() => close?.());

  test("a page of another origin cannot display our pages in a frame", async () => {
    const isShown = await foreign.evaluate(`(async () => {
      const frame = document.createElement("iframe");
      frame.src = "${site.url}/account";
      document.body.append(frame);
      await new Promise((resolve) => frame.addEventListener("load", resolve));
      try {
        return frame.contentDocument.title !== "";
      } catch {
        return false;
      }
    })()`);
    expect(isShown).toBe(false);
    const framed = foreign.frames().find((frame) => frame !== foreign.mainFrame());
    expect(await framed?.evaluate("document.body.innerText")).not.toContain(person.email);
  });

  test("a page of another origin cannot read the session or get a token", async () => {
    const outcomes = await foreign.evaluate(`(async () => {
      const json = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
      const attempts = [["/session", {}], ["/account", {}], ["/session/token", json]].map(([path, options]) =>
        fetch("${site.url}" + path, { credentials: "include", ...options }));
      return (await Promise.allSettled(attempts)).map(({ status }) => status);
    })()`);
    expect(outcomes).toEqual(["rejected", "rejected", "rejected"]);
  });

  test("a page of another origin cannot log the person out, although the browser sends the cookie", async () => {
    await foreign.goto(evil);
    await foreign.evaluate(`{
      const form = document.createElement("form");
      form.method = "post";
      form.action = "${site.url}/logout";
      document.body.append(form);
      form.submit();
    }`);
    await foreign.waitForURL(`${site.url}/logout`);
    expect(await foreign.getByRole("heading").textContent()).toBe("Access denied");
    await foreign.goto(`${site.url}/account`);
    await foreign.getByText(person.email).waitFor();
  });
});
