import { isKnownRedirect } from "./known-redirects.ts";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Schemes that a browser runs, reads or fetches, so they cannot belong to an application. */
const NEVER = new Set(
  ["javascript", "data", "vbscript", "blob", "file", "filesystem", "about", "view-source", "chrome"]
    .concat("ws", "wss", "ftp", "intent", "mailto", "tel", "sms")
    .map((scheme) => `${scheme}:`),
);

const MAX_LENGTH = 2_048;

/**
 * The receiver of an authorization response: a website, a program on the user's machine, or an app with its own
 * scheme.
 */
export type RedirectKind = "web" | "loopback" | "application";

/**
 * Classifies a redirect URI, or returns undefined if it cannot be registered. Allowed: https to any other host, http
 * to the loopback host only (RFC 8252 §7.3), app schemes (§7.1); no fragment (RFC 6749 §3.1.2), password or control
 * character.
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

/** The part of the URI to show to a person: a website's host or an app's scheme. */
export function redirectHost(uri: string): string {
  const url = new URL(uri);
  return url.protocol === "https:" || url.protocol === "http:" ? url.host : url.protocol;
}

/** The URI as a Content-Security-Policy source, so that a form may redirect to it. */
export function redirectSource(uri: string): string {
  const url = new URL(uri);
  return url.protocol === "https:" || url.protocol === "http:" ? url.origin : url.protocol;
}

/** The redirects with which clients may register themselves. */
export interface RedirectRule {
  /** Exact hosts, with the port unless it is 443. */
  readonly hosts: ReadonlySet<string>;
  /** Schemes including the colon. */
  readonly schemes: ReadonlySet<string>;
  /** Whether programs on the user's machine may register. */
  readonly allowsLoopback: boolean;
  /** Whether the published redirects of known hosts are allowed. */
  readonly allowsKnown: boolean;
  /** Whether every valid redirect is allowed. */
  readonly allowsAny: boolean;
}

export function isAllowedBy(rule: RedirectRule, uri: string): boolean {
  const kind = redirectKind(uri);
  if (kind === undefined) return false;
  if (rule.allowsAny || (rule.allowsKnown && isKnownRedirect(uri))) return true;
  const url = new URL(uri);
  switch (kind) {
    case "web":
      return rule.hosts.has(url.host);
    case "loopback":
      return rule.allowsLoopback;
    case "application":
      return rule.schemes.has(url.protocol);
  }
}
