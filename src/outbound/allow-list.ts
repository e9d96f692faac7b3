import { parseHost, type Host } from "./host.ts";

/** Private or unencrypted destinations that the operator allows. */
export interface AllowList {
  permits(host: Host, port: number): boolean;
}

const LOOPBACKS = ["127.0.0.1", "::1"] as const;

/**
 * Parses `OUTBOUND_ALLOW`: `host:port`, IPv6 in brackets. `localhost` and the loopback addresses are equivalent.
 * Throws an Error naming an invalid entry.
 */
export function parseAllowList(entries: readonly string[]): AllowList {
  const keys = new Set<string>();
  for (const entry of entries) {
    const match = /^(\[[^\]]+\]|[^:[\]\s/@]+):(\d{1,5})$/.exec(entry.trim());
    const host = match?.[1] === undefined ? undefined : parseHost(match[1]);
    const port = Number(match?.[2]);
    if (host === undefined || !(port >= 1 && port <= 65_535)) {
      throw new Error(`OUTBOUND_ALLOW: "${entry}" is not host:port`);
    }
    keys.add(key(host.text, port));
    if (host.text === "localhost") for (const address of LOOPBACKS) keys.add(key(address, port));
    if (LOOPBACKS.some((address) => address === host.text)) keys.add(key("localhost", port));
  }
  return { permits: (host, port) => keys.has(key(host.text, port)) };
}

/** The entry that allows a URL's own host: `host:port`. */
export function allowEntryOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
}

function key(host: string, port: number): string {
  return `${host} ${port}`;
}
