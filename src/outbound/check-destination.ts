import { OutboundRefused } from "../integrations/outbound-refused.ts";
import { parseAllowList } from "./allow-list.ts";
import { requirePermittedDestination } from "./destination.ts";

const MAX_URL_LENGTH = 2_048;

/**
 * Returns the rule that a URL breaks, or undefined. Names are not resolved here; the dispatcher checks their addresses
 * on every connection.
 */
export function checkDestination(url: string, allow: readonly string[]): string | undefined {
  if (url.length > MAX_URL_LENGTH) return `must have at most ${MAX_URL_LENGTH} characters`;
  // The URL parser removes these silently, so the stored URL would differ from the called one.
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
