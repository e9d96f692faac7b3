import { BlockList, isIP } from "node:net";
import { type Origin, toOrigin } from "../../identity/actor.ts";
import type { HttpRequest } from "./node-exchange.ts";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

function withoutMapping(address: string): string {
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}

/** What the nearest proxy says: each adds its word at the end. */
function lastForwarded(request: HttpRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value.split(",").at(-1)?.trim() : undefined;
}

function isLoopback(address: string | undefined): boolean {
  if (address === undefined) return false;
  const plain = withoutMapping(address);
  return isIP(plain) !== 0 && LOOPBACK.check(plain, isIP(plain) === 6 ? "ipv6" : "ipv4");
}

/**
 * Whether a secret may be read from this request: over TLS, from this machine itself, or through a trusted proxy that says
 * the caller used https. What the trusted proxy says counts more than that it is on this machine.
 */
export function isConfidential(request: HttpRequest, trustProxy: boolean): boolean {
  if ("encrypted" in request.socket) return true;
  const forwarded = trustProxy ? lastForwarded(request, "x-forwarded-proto") : undefined;
  if (forwarded !== undefined) return forwarded === "https";
  return isLoopback(request.socket.remoteAddress);
}

/** What attempts from an address are counted by: IPv6 by the /64 that one customer commonly holds. */
export function addressGroup(address: string): string {
  const plain = withoutMapping(address);
  return isIP(plain) === 6 ? ipv6Prefix(plain) : plain;
}

/** The caller's address for counting attempts, as `addressGroup` has it. */
export function callerAddress(request: HttpRequest, trustProxy: boolean): string {
  const forwarded = trustProxy ? lastForwarded(request, "x-forwarded-for") : undefined;
  return addressGroup(
    forwarded !== undefined && isIP(forwarded) !== 0 ? forwarded : (request.socket.remoteAddress ?? ""),
  );
}

/** Where a request comes from, for the audit log. */
export function requestOrigin(request: HttpRequest, trustProxy: boolean): Origin {
  const forwarded = trustProxy ? lastForwarded(request, "x-forwarded-for") : undefined;
  const address = forwarded !== undefined && isIP(forwarded) !== 0 ? forwarded : (request.socket.remoteAddress ?? "");
  return toOrigin(withoutMapping(address), request.headers["user-agent"]);
}

function ipv6Prefix(address: string): string {
  const [head = "", tail = ""] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  const rest = tail === "" ? [] : tail.split(":");
  const zeros = address.includes("::") ? Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill("0") : [];
  return [...groups, ...zeros, ...rest].slice(0, 4).join(":");
}
