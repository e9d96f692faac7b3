import { type FormBrowser, formsOf, fromOwnPage } from "./form-browser.ts";

export interface Decider {
  readonly email: string;
  readonly password: string;
  /** The connections to select. Default: all, including future ones. */
  readonly connections?: readonly string[];
}

/**
 * Opens an authorization address like a browser: logs in if required, consents, and returns the redirect to the client.
 */
export async function grantAccess(browser: FormBrowser, address: URL, decider: Decider): Promise<URL> {
  let path = address.pathname + address.search;
  for (let step = 0; step < 5; step++) {
    const page = await browser.get(path);
    if (page.location?.startsWith("/login?") === true) {
      const returnTo = new URLSearchParams(page.location.slice("/login?".length)).get("return_to") ?? "";
      const answer = await browser.logIn(decider.email, decider.password, returnTo);
      if (answer.location === null) throw new Error(`the login failed: ${answer.text}`);
      path = answer.location;
    } else if (page.location !== null) {
      return new URL(page.location);
    } else {
      return new URL(await allow(browser, page.text, decider));
    }
  }
  throw new Error(`${path} does not redirect`);
}

async function allow(browser: FormBrowser, page: string, { connections }: Decider): Promise<string> {
  const form = formsOf(page).find(({ action }) => action === "/oauth2/consent");
  if (form === undefined) throw new Error(`there is no consent form on ${page}`);
  const { csrf_token: token = "", request = "" } = form.fields;
  const sent = new URLSearchParams({ csrf_token: token, request, decision: "approve" });
  sent.set("reach", connections === undefined ? "all" : "chosen");
  for (const id of connections ?? []) sent.append("connection", id);
  const headers = { "content-type": "application/x-www-form-urlencoded", ...fromOwnPage(new URL(browser.site).origin) };
  const answer = await browser.send("POST", form.action, headers, sent.toString());
  if (answer.location === null) throw new Error(`the decision was rejected: ${answer.text}`);
  return answer.location;
}
