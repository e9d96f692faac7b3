import type { HeaderFields, HttpExchange } from "../http/exchange.ts";

/** How a page is sent. */
export interface PageOptions {
  readonly headers?: HeaderFields;
  /**
   * Where the page's forms may lead besides this site. Browsers hold the redirects that follow a form to it as well, so a
   * form that begins or ends at an OAuth client names the client's origin or scheme (`https://app.example.com`,
   * `cursor:`), or `any` where the client is not known yet.
   */
  readonly formTargets?: readonly string[] | "any";
}

/** A source of a policy and nothing that could end it: an origin, or a scheme with its colon. */
const SOURCE = /^[a-z][a-z0-9+.-]*:(\/\/[A-Za-z0-9.:[\]*-]+)?$/;

/** No script, no frame, nothing from elsewhere; style from our own file alone. Throws for a target that is no origin. */
export function contentSecurityPolicy(formTargets: PageOptions["formTargets"] = []): string {
  const policy = ["default-src 'none'", "style-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"];
  if (formTargets === "any") return policy.join("; ");
  const wrong = formTargets.find((target) => !SOURCE.test(target));
  if (wrong !== undefined) throw new TypeError(`${JSON.stringify(wrong)} is no origin that a form could lead to`);
  return [...policy, ["form-action 'self'", ...formTargets].join(" ")].join("; ");
}

/**
 * What every page carries. `same-origin` rather than `no-referrer`: with the latter browsers send `Origin: null` with our
 * own forms, which could then not be told from foreign ones.
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

/** Answers with a page that `renderPage` made, with every header that keeps a browser safe. */
export function answerPage(exchange: HttpExchange, status: number, page: string, options: PageOptions = {}): void {
  const policy = { "content-security-policy": contentSecurityPolicy(options.formTargets) };
  exchange.respond(status, { ...HEADERS, ...policy, ...options.headers }, page);
}

/** Sends the browser on (303: with a GET, whatever it sent). `location` is an address that has been checked. */
export function answerRedirect(exchange: HttpExchange, location: string): void {
  const headers = {
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
  };
  exchange.respond(303, { location, ...headers }, "");
}
