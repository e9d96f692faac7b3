import { BlockList, isIP } from "node:net";
import { type Origin, toOrigin } from "../../identity/actor.ts";
import type { HttpExchange } from "./exchange.ts";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

function withoutMapping(address: string): string {
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}

/** The entry of the nearest proxy, which each proxy appends at the end. */
function lastForwarded({ headers }: HttpExchange, name: string): string | undefined {
  const value = headers[name];
  const line = Array.isArray(value) ? value.at(-1) : value;
  return line?.split(",").at(-1)?.trim();
}

function isLoopback(address: string): boolean {
  const plain = withoutMapping(address);
  return isIP(plain) !== 0 && LOOPBACK.check(plain, isIP(plain) === 6 ? "ipv6" : "ipv4");
}

/**
 * Whether this request may contain a secret: over TLS, from this machine, or through a trusted proxy that reports
 * https. A trusted proxy's report takes precedence over the address.
 */
export function isConfidential(exchange: HttpExchange, trustProxy: boolean): boolean {
  if (exchange.isEncrypted) return true;
  const forwarded = trustProxy ? lastForwarded(exchange, "x-forwarded-proto") : undefined;
  if (forwarded !== undefined) return forwarded === "https";
  return isLoopback(exchange.peerAddress);
}

/** The peer's address, or the last `X-Forwarded-For` entry behind a trusted proxy. */
function callerAddress(exchange: HttpExchange, trustProxy: boolean): string {
  const forwarded = trustProxy ? lastForwarded(exchange, "x-forwarded-for") : undefined;
  return withoutMapping(forwarded !== undefined && isIP(forwarded) !== 0 ? forwarded : exchange.peerAddress);
}

/**
 * The address that requests are counted by. IPv6 addresses are counted by /64, the usual allocation of one customer.
 */
export function clientAddress(exchange: HttpExchange, trustProxy: boolean): string {
  const address = callerAddress(exchange, trustProxy);
  return isIP(address) === 6 ? ipv6Prefix(address) : address;
}

/** The address and user agent of a request, for the audit log. */
export function requestOrigin(exchange: HttpExchange, trustProxy: boolean): Origin {
  return toOrigin(callerAddress(exchange, trustProxy), exchange.headers["user-agent"]);
}

function ipv6Prefix(address: string): string {
  const [head = "", tail = ""] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  const rest = tail === "" ? [] : tail.split(":");
  const zeros = address.includes("::") ? Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill("0") : [];
  return [...groups, ...zeros, ...rest].slice(0, 4).join(":");
}
