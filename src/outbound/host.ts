import { isIP } from "node:net";
import { canonicalAddress } from "./address.ts";

/** A canonical IP address, or a name to resolve. */
export interface Host {
  readonly kind: "address" | "name";
  readonly text: string;
}

/**
 * Parses a host in any textual form: brackets, a trailing dot, capitals, and the decimal, octal, hex and short IPv4
 * forms that a resolver accepts. Returns undefined for an invalid host.
 */
export function parseHost(text: string): Host | undefined {
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
  // Kept for the address check, which rejects it with a reason; the URL parser does not support zones.
  if (bare.includes("%")) return isIP(bare) === 6 ? { kind: "address", text: bare } : undefined;
  if (isIP(bare) !== 0) return { kind: "address", text: canonicalAddress(bare) };
  let hostname: string;
  try {
    hostname = new URL(`http://${bare}/`).hostname;
  } catch {
    return undefined;
  }
  if (isIP(hostname) === 4) return { kind: "address", text: hostname };
  const name = hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
  return name === "" ? undefined : { kind: "name", text: name };
}
