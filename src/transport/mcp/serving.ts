import type { Principal } from "../../identity/principal.ts";
import type { Peer } from "../../runtime/sessions/session.ts";
import type { ActiveRequests } from "../../runtime/sessions/active-requests.ts";
import type { ParkedCalls } from "../../runtime/relay/parked-calls.ts";
import type { SessionAnswers } from "../../runtime/relay/session-answers.ts";
import type { RequestStates } from "../../runtime/relay/request-state.ts";
import type { Sessions } from "../../runtime/sessions/sessions.ts";
import type { Tasks } from "../../runtime/tasks/tasks.ts";
import type { UpstreamFeatures } from "../../runtime/upstream/upstream-features.ts";
import type { HttpExchange } from "../http/exchange.ts";
import type { Heartbeats } from "../http/heartbeats.ts";
import type { Log } from "../http/log.ts";
import type { ChangeStreams } from "./change-stream.ts";
import type { RpcMethod } from "./methods.ts";
import type { Accepted } from "./reply.ts";

/** The dependencies of both protocol handlers. */
export interface Serving {
  readonly methods: ReadonlyMap<string, RpcMethod>;
  readonly sessions: Sessions;
  readonly activeRequests: ActiveRequests;
  readonly streams: ChangeStreams;
  readonly features: UpstreamFeatures;
  readonly tasks: Tasks;
  readonly requestStates: RequestStates;
  readonly parkedCalls: ParkedCalls;
  readonly sessionAnswers: SessionAnswers;
  readonly serverInfo: Peer;
  readonly heartbeats: Heartbeats;
  readonly log: Log;
}

/** An authenticated request. */
export interface Admitted {
  readonly exchange: HttpExchange;
  /** The principal of the token. */
  readonly bearer: Principal;
  /** The principal, restricted to the connection of the address if it names one. */
  readonly principal: Principal;
  readonly accepted: Accepted;
  /** Called when a request begins to wait for its upstream: it then holds no slot and has no deadline of the service. */
  readonly onSent: () => void;
}
