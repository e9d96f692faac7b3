import type { LookupFunction } from "node:net";
import { Agent, type Dispatcher } from "undici";
import { parseAllowList } from "./allow-list.ts";
import { createGuardedConnector } from "./guarded-connector.ts";

/** As many sockets as calls on a replica, so that the long calls of some accounts leave sockets to others. */
const MAX_CONNECTIONS_PER_ORIGIN = 2_000;

/** Allowed destinations besides public https, and limits for all outbound requests. */
export interface GuardedDispatcherOptions {
  /** Entries of `OUTBOUND_ALLOW`, `host:port`. */
  readonly allow: readonly string[];
  readonly connectTimeoutMs?: number;
  /** Time until the response headers are complete. */
  readonly headersTimeoutMs?: number;
  /** Time between two chunks of a body. */
  readonly bodyIdleMs?: number;
  /** Maximum number of sockets per origin. */
  readonly connectionsPerOrigin?: number;
  /** Maximum number of origins with an open or connecting socket. */
  readonly maxOrigins?: number;
  /** The largest response in bytes, -1 for no limit; callers set lower limits. */
  readonly maxResponseBytes?: number;
  /** Defaults to the system's resolver. */
  readonly lookup?: LookupFunction;
}

/**
 * Sends every request to an upstream. Never follows redirects, ignores proxy variables, always verifies TLS, and
 * throws OutboundRefused before it sends a byte to a forbidden destination. Throws for an invalid allow-list entry.
 */
export function createGuardedDispatcher(options: GuardedDispatcherOptions): Dispatcher {
  return new Agent({
    connect: createGuardedConnector({
      allow: parseAllowList(options.allow),
      connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
      lookup: options.lookup,
    }),
    allowH2: false,
    pipelining: 1,
    connections: options.connectionsPerOrigin ?? MAX_CONNECTIONS_PER_ORIGIN,
    maxOrigins: options.maxOrigins ?? 4_096,
    headersTimeout: options.headersTimeoutMs ?? 30_000,
    bodyTimeout: options.bodyIdleMs ?? 30_000,
    maxResponseSize: options.maxResponseBytes ?? 32 * 1024 * 1024,
    // Many servers close idle sockets after 5 s without notice; a server's hint may extend the time.
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 60_000,
  });
}
