import { expect } from "vitest";
import { createFormBrowser, type FormBrowser, formsOf } from "./form-browser.ts";
import type { Service } from "./service.ts";
import type { Vendor } from "./vendor.ts";

/** An account with a logged-in browser. */
export interface LoggedIn {
  readonly email: string;
  readonly browser: FormBrowser;
}

export async function logInPerson(service: Service, email: string): Promise<LoggedIn> {
  const { password } = await service.command("account", "create", "--email", email);
  const browser = createFormBrowser(service.url);
  await browser.logIn(email, String(password));
  return { email, browser };
}

/** Opens the authorization address, consents at the vendor, and returns the text of the final page. */
export async function followAuthorization(
  browser: FormBrowser,
  vendor: Vendor,
  authorizationUrl: string,
): Promise<string> {
  const { pathname } = new URL(authorizationUrl);
  const asked = await browser.get(pathname);
  const form = formsOf(asked.text).find(({ action }) => action === pathname);
  expect(form, asked.text).toBeDefined();
  const sent = await browser.post(pathname, form?.fields ?? {});
  expect([sent.status, sent.text]).toEqual([303, ""]);
  const back = new URL(await vendor.logIn(sent.location ?? ""));
  const arrived = await browser.get(`${back.pathname}${back.search}`);
  expect(arrived.status, arrived.text).toBe(200);
  return arrived.text;
}
