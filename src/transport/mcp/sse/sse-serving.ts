import type { RelayMessages } from "../../../runtime/relay/relay-messages.ts";
import type { TimeLimit } from "../../../time-limit.ts";
import type { ConcurrencyLimiter } from "../../gate/concurrency-limiter.ts";
import type { EndpointAccess } from "../endpoint/endpoint-access.ts";
import type { Serving } from "../serving.ts";
import type { SessionRequests } from "../sessions/session-requests.ts";

/** The dependencies of HTTP+SSE. Its messages arrive from any replica, so they pass the limiters here. */
export interface SseServing extends Serving {
  readonly requests: SessionRequests;
  readonly relays: RelayMessages;
  readonly access: Pick<EndpointAccess, "narrow">;
  readonly timeLimit: TimeLimit;
  readonly upstreamLimiter: ConcurrencyLimiter;
  readonly poolLimiter: ConcurrencyLimiter;
}
