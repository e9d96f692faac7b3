import { createHash } from "node:crypto";
import type { WarnLog } from "../../log.ts";
import { SessionNotFound } from "./session.ts";

/** Tells every replica that a request is no longer awaited. */
export interface CancellationFeed {
  /** Announces it to all replicas, this one included. */
  announce(cancellation: Cancellation): Promise<void>;
  /** Calls back for every announcement. */
  onCanceled(callback: (cancellation: Cancellation) => void): void;
}

/** A request as replicas tell one another of it: session ids are secrets, and ids of requests may be long. */
export interface Cancellation {
  /** SHA-256 of the session's id, base64url. */
  readonly session: string;
  /** SHA-256 of the request's id as JSON, base64url. Undefined for all requests of a session that was ended. */
  readonly request: string | undefined;
}

/** A client took back its request; there is nobody to answer. */
export class RequestCanceled extends Error {
  constructor() {
    super("The client cancelled the request.");
    this.name = "RequestCancelled";
  }
}

/** The requests of sessions that are being answered on this replica. */
export interface ActiveRequests {
  /** Notes a request; it is aborted when the session cancels it, on whichever replica. `requestId` is JSON. */
  start(sessionId: string, requestId: string): ActiveRequest;
  /** Cancels a request of the session here, or has the other replicas look for it. One that has ended is left alone. */
  cancel(sessionId: string, requestId: string): void;
  /** Ends every request of a session that is no more, on all replicas; whoever awaits one hears that it has ended. */
  cancelSession(sessionId: string): void;
}

/** A request on its way. */
export interface ActiveRequest {
  readonly controller: AbortController;
  /** Must be called once when it is answered. */
  readonly end: () => void;
}

interface Entry {
  readonly sessionId: string;
  readonly requestId: string;
  readonly controller: AbortController;
}

/** Requests in flight, and word between replicas for those that are not in flight here. */
export function createActiveRequests(deps: { readonly feed: CancellationFeed; readonly log: WarnLog }): ActiveRequests {
  const entries = new Set<Entry>();

  deps.feed.onCanceled(({ session, request }) => {
    const digests = new Map<string, string>();
    for (const { sessionId, requestId, controller } of [...entries]) {
      const own = digests.get(sessionId) ?? digest(sessionId);
      digests.set(sessionId, own);
      if (own !== session) continue;
      if (request === undefined) controller.abort(new SessionNotFound());
      else if (digest(requestId) === request) controller.abort(new RequestCanceled());
    }
  });

  function announce(cancellation: Cancellation): void {
    deps.feed.announce(cancellation).catch((error: unknown) => {
      deps.log.warn({ err: error }, "a cancellation could not be passed on");
    });
  }

  return {
    start(sessionId, requestId) {
      const controller = new AbortController();
      const one = { sessionId, requestId, controller };
      entries.add(one);
      return { controller, end: () => entries.delete(one) };
    },

    cancel(sessionId, requestId) {
      const here = [...entries].filter((one) => one.sessionId === sessionId && one.requestId === requestId);
      for (const { controller } of here) controller.abort(new RequestCanceled());
      if (here.length > 0) return;
      announce({ session: digest(sessionId), request: digest(requestId) });
    },

    cancelSession(sessionId) {
      for (const one of [...entries]) {
        if (one.sessionId === sessionId) one.controller.abort(new SessionNotFound());
      }
      announce({ session: digest(sessionId), request: undefined });
    },
  };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
