import { isIP } from "node:net";
import { canonicalAddress } from "./address.ts";

/** A host in one spelling: an address, or a name that has yet to be looked up. */
export interface Host {
  readonly kind: "address" | "name";
  readonly text: string;
}

/**
 * Reads a host in any of its textual forms: brackets, a trailing dot, capitals, and the decimal, octal, hex and short IPv4
 * forms that a resolver would take. Undefined for what is no host at all.
 */
export function parseHost(text: string): Host | undefined {
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
  // Kept, so that the check of addresses can refuse it with its reason; the URL parser knows no zones.
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
