import { isIP } from "node:net";
import type { HttpExchange } from "../http/exchange.ts";
import { CODES, RpcFault } from "./rpc-fault.ts";

/** Rejects requests that a foreign site could send by DNS rebinding. Throws RpcFault with 403. */
export type OriginGuard = (exchange: HttpExchange) => void;

/**
 * An Origin must be the service's own or a configured one. The Host must be the service's own, an IP address or
 * `localhost`, because an attacker cannot redirect these names. Behind a trusted proxy the Host is not checked.
 */
export function createOriginGuard(options: {
  readonly publicUrl: string;
  readonly corsOrigins: readonly string[];
  readonly trustProxy: boolean;
}): OriginGuard {
  const origins = new Set([new URL(options.publicUrl).origin, ...options.corsOrigins]);
  const ownName = new URL(options.publicUrl).hostname;
  // Most requests have the same Host.
  let lastTrusted = "";

  function isTrustedHost(host: string | undefined): boolean {
    if (options.trustProxy || host === lastTrusted) return true;
    if (host === undefined || !URL.canParse(`http://${host}`)) return false;
    const { hostname } = new URL(`http://${host}`);
    const address = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
    const isTrusted = hostname === ownName || hostname === "localhost" || isIP(address) !== 0;
    if (isTrusted) lastTrusted = host;
    return isTrusted;
  }

  return ({ headers }) => {
    const { origin } = headers;
    if (origin !== undefined && !origins.has(origin)) throw forbidden("The Origin of the request is not allowed.");
    if (!isTrustedHost(singleValue(headers[":authority"]) ?? headers.host))
      throw forbidden("The Host of the request is not allowed.");
  };
}

function forbidden(message: string): RpcFault {
  return new RpcFault(CODES.server, message, { httpStatus: 403 });
}

function singleValue(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
