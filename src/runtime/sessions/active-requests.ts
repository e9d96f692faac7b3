import { createHash } from "node:crypto";
import type { WarnLog } from "../../log.ts";
import { SessionNotFound } from "./session.ts";

/** Tells every replica that a request is no longer awaited. */
export interface CancellationFeed {
  /** Announces it to all replicas, this one included. */
  announce(cancellation: Cancellation): Promise<void>;
  /** Calls back for every announcement. */
  onCancelled(callback: (cancellation: Cancellation) => void): void;
}

/** A request as replicas tell one another of it: session ids are secrets, and ids of requests may be long. */
export interface Cancellation {
  /** SHA-256 of the session's id, base64url. */
  readonly session: string;
  /** SHA-256 of the request's id as JSON, base64url. Undefined for all requests of a session that was ended. */
  readonly request: string | undefined;
}

/** A client took back its request; there is nobody to answer. */
export class RequestCancelled extends Error {
  constructor() {
    super("The client cancelled the request.");
    this.name = "RequestCancelled";
  }
}

/** The requests of sessions that are being answered on this replica. */
export interface InFlight {
  /** Notes a request; it is aborted when the session cancels it, on whichever replica. `requestId` is JSON. */
  begin(sessionId: string, requestId: string): FlyingRequest;
  /** Cancels a request of the session here, or has the other replicas look for it. One that has ended is left alone. */
  cancel(sessionId: string, requestId: string): void;
  /** Ends every request of a session that is no more, on all replicas; whoever awaits one hears that it has ended. */
  endSession(sessionId: string): void;
}

/** A request on its way. */
export interface FlyingRequest {
  readonly controller: AbortController;
  /** Must be called once when it is answered. */
  readonly end: () => void;
}

interface Flying {
  readonly sessionId: string;
  readonly requestId: string;
  readonly controller: AbortController;
}

/** Requests in flight, and word between replicas for those that are not in flight here. */
export function createInFlight(deps: { readonly feed: CancellationFeed; readonly log: WarnLog }): InFlight {
  const flying = new Set<Flying>();

  deps.feed.onCancelled(({ session, request }) => {
    const digests = new Map<string, string>();
    for (const { sessionId, requestId, controller } of [...flying]) {
      const own = digests.get(sessionId) ?? digest(sessionId);
      digests.set(sessionId, own);
      if (own !== session) continue;
      if (request === undefined) controller.abort(new SessionNotFound());
      else if (digest(requestId) === request) controller.abort(new RequestCancelled());
    }
  });

  function announce(cancellation: Cancellation): void {
    deps.feed.announce(cancellation).catch((error: unknown) => {
      deps.log.warn({ err: error }, "a cancellation could not be passed on");
    });
  }

  return {
    begin(sessionId, requestId) {
      const controller = new AbortController();
      const one = { sessionId, requestId, controller };
      flying.add(one);
      return { controller, end: () => flying.delete(one) };
    },

    cancel(sessionId, requestId) {
      const here = [...flying].filter((one) => one.sessionId === sessionId && one.requestId === requestId);
      for (const { controller } of here) controller.abort(new RequestCancelled());
      if (here.length > 0) return;
      announce({ session: digest(sessionId), request: digest(requestId) });
    },

    endSession(sessionId) {
      for (const one of [...flying]) {
        if (one.sessionId === sessionId) one.controller.abort(new SessionNotFound());
      }
      announce({ session: digest(sessionId), request: undefined });
    },
  };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
