import { lookup as systemLookup } from "node:dns";
import type { LookupFunction, Socket } from "node:net";
import { LRUCache } from "lru-cache";
import { buildConnector } from "undici";
import { atMost } from "../at-most.ts";
import { OutboundRefused } from "../integrations/outbound-refused.ts";
import type { AllowList } from "./allow-list.ts";
import { requirePermittedAddress, requirePermittedDestination, type Destination } from "./destination.ts";

export interface GuardedConnectorOptions {
  readonly allow: AllowList;
  readonly connectTimeoutMs: number;
  readonly lookup?: LookupFunction | undefined;
}

/**
 * Opens sockets only to public or allowed destinations.
 *
 * Checks the host, then every resolved address, then the connected peer. A single check could be bypassed by an IP
 * literal, by DNS rebinding, or by a name with one public and one private address.
 */
export function createGuardedConnector({
  allow,
  connectTimeoutMs,
  lookup = systemLookup,
}: GuardedConnectorOptions): buildConnector.connector {
  // DNS lookup receives only the hostname, but the allow list depends on the port, so each port has its own connector.
  const connectors = new LRUCache<string, buildConnector.connector>(atMost(100));

  const connectorFor = (destination: Destination): buildConnector.connector => {
    const key = `${destination.permitted} ${destination.port}`;
    const known = connectors.get(key);
    if (known !== undefined) return known;
    const connector = buildConnector({
      allowH2: false,
      timeout: connectTimeoutMs,
      rejectUnauthorized: true,
      lookup: guardedLookup(lookup, (name, address) => {
        requirePermittedAddress(address, { ...destination, host: { kind: "name", text: name } }, allow);
      }),
    });
    connectors.set(key, connector);
    return connector;
  };

  return (options, callback) => {
    let destination: Destination;
    try {
      destination = requirePermittedDestination(options.protocol, options.hostname, options.port, allow);
    } catch (error) {
      callback(asError(error), null);
      return;
    }
    connectorFor(destination)(options, (...outcome) => {
      const [error, socket] = outcome;
      if (error !== null) {
        callback(error, null);
        return;
      }
      const refused = refusedPeer(socket, destination, allow);
      if (refused === undefined) {
        callback(null, socket);
        return;
      }
      socket.destroy();
      callback(refused, null);
    });
  };
}

function guardedLookup(lookup: LookupFunction, judge: (name: string, address: string) => void): LookupFunction {
  return (name, options, callback) => {
    lookup(name, options, (error, found, family) => {
      if (!error) {
        try {
          const addresses = typeof found === "string" ? [found] : found.map(({ address }) => address);
          for (const address of addresses) judge(name, address);
        } catch (refused) {
          callback(asError(refused), "", 0);
          return;
        }
      }
      callback(error, found, family);
    });
  };
}

function refusedPeer(socket: Socket, destination: Destination, allow: AllowList): Error | undefined {
  try {
    if (socket.remoteAddress === undefined)
      throw new OutboundRefused("The connection was lost before its peer was known.");
    requirePermittedAddress(socket.remoteAddress, destination, allow);
    return undefined;
  } catch (error) {
    return asError(error);
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
