import type { HeaderFields, HttpExchange } from "../http/exchange.ts";

export interface PageOptions {
  readonly headers?: HeaderFields;
  /**
   * Other targets of the page's forms. Browsers also apply the policy to the redirects that follow a form, so a form
   * that starts or ends at an OAuth client names the client's origin or scheme (`https://app.example.com`, `cursor:`),
   * or `any` if the client is not known yet.
   */
  readonly formTargets?: readonly string[] | "any";
}

/** A policy source that cannot end the policy: an origin, or a scheme with its colon. */
const SOURCE = /^[a-z][a-z0-9+.-]*:(\/\/[A-Za-z0-9.:[\]*-]+)?$/;

/**
 * Creates a policy without scripts, frames and foreign content; styles only from our own file. Throws for an invalid
 * form target.
 */
export function contentSecurityPolicy(formTargets: PageOptions["formTargets"] = []): string {
  const policy = ["default-src 'none'", "style-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"];
  if (formTargets === "any") return policy.join("; ");
  const wrong = formTargets.find((target) => !SOURCE.test(target));
  if (wrong !== undefined) throw new TypeError(`${JSON.stringify(wrong)} is not a valid form target`);
  return [...policy, ["form-action 'self'", ...formTargets].join(" ")].join("; ");
}

/**
 * Headers of every page. `same-origin` instead of `no-referrer`, because with the latter browsers send `Origin: null`
 * with our own forms.
 */
const HEADERS: HeaderFields = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy":
    "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), publickey-credentials-get=(), usb=()",
};

/** Sends a page of `renderPage` with the security headers. */
export function answerPage(exchange: HttpExchange, status: number, page: string, options: PageOptions = {}): void {
  const policy = { "content-security-policy": contentSecurityPolicy(options.formTargets) };
  exchange.respond(status, { ...HEADERS, ...policy, ...options.headers }, page);
}

/** Redirects the browser with 303, so that it sends a GET. `location` must have been checked. */
export function answerRedirect(exchange: HttpExchange, location: string): void {
  const headers = {
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
  };
  exchange.respond(303, { location, ...headers }, "");
}
