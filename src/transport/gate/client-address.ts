import { isIP } from "node:net";
import { addressGroup } from "../http/peer.ts";
import type { Exchange } from "../http/exchange.ts";

/** What a caller's requests are counted by: the peer's address, or behind a trusted proxy the last hop that it wrote. */
export function clientAddress(exchange: Exchange, trustProxy: boolean): string {
  if (!trustProxy) return addressGroup(exchange.peerAddress);
  const forwarded = exchange.headers["x-forwarded-for"];
  const line = Array.isArray(forwarded) ? forwarded.at(-1) : forwarded;
  const lastHop = line?.split(",").at(-1)?.trim() ?? "";
  return addressGroup(isIP(lastHop) === 0 ? exchange.peerAddress : lastHop);
}
