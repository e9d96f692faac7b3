import type { HttpExchange } from "../http/exchange.ts";

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Where a browser that came by another name of this machine should have come to, or undefined. `localhost` and `127.0.0.1`
 * are two sites to a browser: cookies and forms of one are foreign to the other. Only names of this machine, on the same
 * port, are taken for each other; what a proxy makes of a name is its own affair.
 */
export function betterAddress(exchange: HttpExchange, publicUrl: string): string | undefined {
  const host = exchange.headers.host ?? exchange.headers[":authority"];
  if (typeof host !== "string" || !URL.canParse(`http://${host}`)) return undefined;
  const [asked, own] = [new URL(`http://${host}`), new URL(publicUrl)];
  if (asked.hostname === own.hostname || asked.port !== own.port || own.protocol !== "http:") return undefined;
  const areSame = LOOPBACK_NAMES.includes(asked.hostname) && LOOPBACK_NAMES.includes(own.hostname);
  return areSame ? own.origin + exchange.target : undefined;
}
