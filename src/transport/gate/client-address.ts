import type { Exchange } from "../http/exchange.ts";

/** The caller's address: the peer's, or behind a trusted proxy the last hop that it wrote. */
export function clientAddress(exchange: Exchange, trustProxy: boolean): string {
  if (!trustProxy) return exchange.peerAddress;
  const forwarded = exchange.headers["x-forwarded-for"];
  const line = Array.isArray(forwarded) ? forwarded.at(-1) : forwarded;
  const lastHop = line?.split(",").at(-1)?.trim();
  return lastHop === undefined || lastHop === "" ? exchange.peerAddress : lastHop.slice(0, 64);
}
