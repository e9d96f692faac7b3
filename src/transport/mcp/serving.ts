import type { Principal } from "../../identity/principal.ts";
import type { Peer } from "../../runtime/sessions/session.ts";
import type { ActiveRequests } from "../../runtime/sessions/active-requests.ts";
import type { Sessions } from "../../runtime/sessions/sessions.ts";
import type { UpstreamFeatures } from "../../runtime/upstream/upstream-features.ts";
import type { HttpExchange } from "../http/exchange.ts";
import type { Log } from "../http/log.ts";
import type { ChangeStreams } from "./change-stream.ts";
import type { RpcMethod } from "./methods.ts";
import type { Accepted } from "./reply.ts";

/** What both protocol handlers are made of. */
export interface Serving {
  readonly methods: ReadonlyMap<string, RpcMethod>;
  readonly sessions: Sessions;
  readonly activeRequests: ActiveRequests;
  readonly streams: ChangeStreams;
  readonly features: UpstreamFeatures;
  readonly serverInfo: Peer;
  readonly log: Log;
}

/** A request that came through the gate. */
export interface Admitted {
  readonly exchange: HttpExchange;
  /** Who acts as the token says. */
  readonly bearer: Principal;
  /** Who acts, narrowed to the one connection of the address where it names one. */
  readonly principal: Principal;
  readonly accepted: Accepted;
}
