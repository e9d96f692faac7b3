const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Schemes that are not an application's own: a browser would run, read or fetch what they name. */
const NEVER = new Set(
  ["javascript", "data", "vbscript", "blob", "file", "filesystem", "about", "view-source", "chrome"]
    .concat("ws", "wss", "ftp", "intent", "mailto", "tel", "sms")
    .map((scheme) => `${scheme}:`),
);

const MAX_LENGTH = 2_048;

/** Where an authorization response may go: a site, a program on the person's own machine, or an application by its scheme. */
export type RedirectKind = "web" | "loopback" | "application";

/**
 * What kind of redirect an address is; undefined for one that nobody may register: https to any host, http to the machine
 * itself alone (RFC 8252 §7.3), schemes of applications (§7.1); no fragment (RFC 6749 §3.1.2), no password, no control character.
 */
export function redirectKind(uri: string): RedirectKind | undefined {
  if (uri.length > MAX_LENGTH || !/^[\x21-\x7e]+$/.test(uri) || uri.includes("#") || uri.includes("\\"))
    return undefined;
  const url = URL.parse(uri);
  if (url?.username !== "" || url.password !== "" || NEVER.has(url.protocol)) return undefined;
  if (url.protocol === "https:") return LOOPBACK.has(url.hostname) ? undefined : "web";
  if (url.protocol === "http:") return LOOPBACK.has(url.hostname) ? "loopback" : undefined;
  return "application";
}

/** What a person is shown of an address: the host of a site, the scheme of an application. */
export function redirectHost(uri: string): string {
  const url = new URL(uri);
  return url.protocol === "https:" || url.protocol === "http:" ? url.host : url.protocol;
}

/** The address as a source of a content security policy: what a form that ends there must be allowed. */
export function redirectSource(uri: string): string {
  const url = new URL(uri);
  return url.protocol === "https:" || url.protocol === "http:" ? url.origin : url.protocol;
}

/** The hosts whose clients may register themselves. */
export interface RedirectRule {
  /** Exact hosts, with their port unless it is https' own. */
  readonly hosts: ReadonlySet<string>;
  /** Schemes with their colon. */
  readonly schemes: ReadonlySet<string>;
  /** Whether programs on the person's own machine may. */
  readonly allowsLoopback: boolean;
}

/** Whether a rule allows an address. */
export function isAllowedBy(rule: RedirectRule, uri: string): boolean {
  const url = new URL(uri);
  switch (redirectKind(uri)) {
    case "web":
      return rule.hosts.has(url.host);
    case "loopback":
      return rule.allowsLoopback;
    case "application":
      return rule.schemes.has(url.protocol);
    case undefined:
      return false;
  }
}
