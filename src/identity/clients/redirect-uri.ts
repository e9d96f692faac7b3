import { invalid } from "../../domain-error.ts";

const MAX_URIS = 20;

const MAX_LENGTH = 2_000;

const LOOPBACK = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** App schemes contain a dot (RFC 8252 §7.1), which excludes `javascript`, `data` and similar schemes. */
const OWN_SCHEME = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/;

/** The rule that a redirect URI breaks, to follow "must"; undefined if it is valid. */
function problemOf(uri: string): string | undefined {
  if (uri.length > MAX_LENGTH) return `have at most ${MAX_LENGTH} characters`;
  if (!URL.canParse(uri) || /[\s\p{Cc}\\]/u.test(uri)) return "be absolute addresses";
  const { protocol, hostname, username, password } = new URL(uri);
  if (uri.includes("#")) return "have no fragment";
  if (username !== "" || password !== "") return "have no user name and no password";
  if (protocol === "https:" || OWN_SCHEME.test(protocol)) return undefined;
  if (protocol === "http:" && LOOPBACK.has(hostname)) return undefined;
  return "be https, http on this machine (127.0.0.1, [::1] or localhost), or of a program's own scheme such as com.example.app:/done";
}

/** Checks redirect URIs (RFC 6749 §3.1.2, RFC 8252 §7, RFC 9700 §4.1). Throws `invalid`. */
export function checkRedirectUris(uris: readonly string[]): readonly string[] {
  if (uris.length > MAX_URIS) throw invalid("redirect_uris", `redirect_uris must have at most ${MAX_URIS} entries.`);
  for (const uri of uris) {
    const problem = problemOf(uri);
    if (problem !== undefined) throw invalid("redirect_uris", `redirect_uris must ${problem}.`);
  }
  return [...new Set(uris)];
}
