import { OutboundRefused } from "../integrations/outbound-refused.ts";
import { parseAllowList } from "./allow-list.ts";
import { requirePermittedDestination } from "./destination.ts";

/** The longest address taken, in characters. */
const MAX_URL_LENGTH = 2_048;

/**
 * Why an address must not become a destination, in a public sentence, or undefined when nothing speaks against it yet.
 *
 * Syntactic only: names are not looked up here, the dispatcher does that at every connection.
 */
export function checkDestination(url: string, allow: readonly string[]): string | undefined {
  if (url.length > MAX_URL_LENGTH) return `must have at most ${MAX_URL_LENGTH} characters`;
  // The URL parser drops these silently, and what is stored would not be what is called.
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f\\]/.test(url)) return "must not contain spaces, control characters or backslashes";
  const parsed = URL.parse(url);
  if (parsed === null) return "must be an absolute address such as https://mcp.example.com/mcp";
  if (parsed.protocol !== "https:" && parsed.protocol !== "http:") return "must start with https:// or http://";
  if (parsed.username !== "" || parsed.password !== "") return "must not contain a user name or password";
  if (url.includes("#")) return "must not contain a fragment (#…)";
  try {
    requirePermittedDestination(parsed.protocol, parsed.hostname, parsed.port, parseAllowList(allow));
  } catch (error) {
    if (error instanceof OutboundRefused) return error.message;
    throw error;
  }
  return undefined;
}
