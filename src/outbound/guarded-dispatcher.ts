import type { LookupFunction } from "node:net";
import { Agent, type Dispatcher } from "undici";
import { parseAllowList } from "./allow-list.ts";
import { createGuardedConnector } from "./guarded-connector.ts";

/** What may be called beyond public https, and the limits on all outbound calls together. */
export interface GuardedDispatcherOptions {
  /** Entries of `OUTBOUND_ALLOW`, `host:port`. */
  readonly allow: readonly string[];
  readonly connectTimeoutMs?: number;
  /** Until the answer's headers are complete. */
  readonly headersTimeoutMs?: number;
  /** Between two pieces of a body. */
  readonly bodyIdleMs?: number;
  /** Sockets to one origin. */
  readonly connectionsPerOrigin?: number;
  /** Origins with an open or opening socket. */
  readonly maxOrigins?: number;
  /** The largest answer of all, in bytes; callers set a tighter limit of their own. */
  readonly maxResponseBytes?: number;
  /** How names are looked up; the system's resolver unless told. */
  readonly lookup?: LookupFunction;
}

/**
 * The one way out of the service: every call to a third party goes through this dispatcher.
 *
 * It never follows redirects (undici does not unless asked), ignores proxy variables, always verifies TLS, and fails with
 * OutboundRefused before a byte is sent to a place that is neither public nor permitted. Throws for a malformed entry.
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
    connections: options.connectionsPerOrigin ?? 128,
    maxOrigins: options.maxOrigins ?? 4_096,
    headersTimeout: options.headersTimeoutMs ?? 30_000,
    bodyTimeout: options.bodyIdleMs ?? 30_000,
    maxResponseSize: options.maxResponseBytes ?? 32 * 1024 * 1024,
    // Below the 5 s after which common servers hang up without saying so; a server's own hint may lengthen it.
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 60_000,
  });
}
