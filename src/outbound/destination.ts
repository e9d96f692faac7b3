import { OutboundRefused } from "../integrations/outbound-refused.ts";
import { addressRefusal } from "./address.ts";
import type { AllowList } from "./allow-list.ts";
import { parseHost, type Host } from "./host.ts";

/** The destination of an outbound connection. `permitted` marks entries of the operator's list. */
export interface Destination {
  readonly host: Host;
  readonly port: number;
  readonly permitted: boolean;
}

/**
 * Checks scheme, host and port before name resolution. Plain http is allowed only for hosts on the operator's list,
 * because it would expose a key. Throws OutboundRefused.
 */
export function requirePermittedDestination(
  protocol: string,
  hostname: string,
  portText: string,
  allow: AllowList,
): Destination {
  if (protocol !== "https:" && protocol !== "http:") {
    throw new OutboundRefused(`Calls by ${protocol} are refused: only https and http addresses can be called.`);
  }
  const port = portText === "" ? (protocol === "https:" ? 443 : 80) : Number(portText);
  const host = parseHost(hostname);
  if (host === undefined || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new OutboundRefused("The address names no host that can be called.");
  }
  const destination = { host, port, permitted: allow.permits(host, port) };
  if (destination.permitted) return destination;
  if (host.kind === "address") requirePermittedAddress(host.text, destination, allow);
  // RFC 6761: names under .localhost are always loopback.
  if (host.text === "localhost" || host.text.endsWith(".localhost"))
    throw refusal(destination, "it is a loopback address");
  if (protocol === "http:") throw refusal(destination, "a key would travel unencrypted over http; use https");
  return destination;
}

/** Checks one resolved address of a destination. Throws OutboundRefused. */
export function requirePermittedAddress(address: string, destination: Destination, allow: AllowList): void {
  if (destination.permitted) return;
  const reason = addressRefusal(address);
  if (reason === undefined) return;
  const host = parseHost(address);
  if (host !== undefined && allow.permits(host, destination.port)) return;
  throw refusal(destination, destination.host.kind === "address" ? `it is ${reason}` : `its name leads to ${reason}`);
}

function refusal({ host, port }: Destination, reason: string): OutboundRefused {
  const name = `${host.text.includes(":") ? `[${host.text}]` : host.text}:${port}`;
  return new OutboundRefused(
    `Calls to ${name} are refused because ${reason}. If it is meant, the operator can add ${name} to OUTBOUND_ALLOW.`,
  );
}
