import type { HttpExchange } from "../http/exchange.ts";

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Returns the preferred address for a browser that used another name of this machine, or undefined. For browsers
 * `localhost` and `127.0.0.1` are different sites, which do not share cookies and forms. Only names of this machine on
 * the same port are treated as equal; names behind a proxy are not.
 */
export function betterAddress(exchange: HttpExchange, publicUrl: string): string | undefined {
  const host = exchange.headers.host ?? exchange.headers[":authority"];
  if (typeof host !== "string" || !URL.canParse(`http://${host}`)) return undefined;
  const [asked, own] = [new URL(`http://${host}`), new URL(publicUrl)];
  if (asked.hostname === own.hostname || asked.port !== own.port || own.protocol !== "http:") return undefined;
  const areSame = LOOPBACK_NAMES.includes(asked.hostname) && LOOPBACK_NAMES.includes(own.hostname);
  return areSame ? own.origin + exchange.target : undefined;
}
