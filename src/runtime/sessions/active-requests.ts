import { createHash } from "node:crypto";
import type { WarnLog } from "../../log.ts";
import { SessionNotFound } from "./session.ts";

/** Distributes cancellations to all replicas. */
export interface CancellationFeed {
  /** Sends a cancellation to all replicas, including this one. */
  announce(cancellation: Cancellation): Promise<void>;
  onCanceled(callback: (cancellation: Cancellation) => void): void;
}

/** Contains digests because session ids are secret and request ids can be long. */
export interface Cancellation {
  /** SHA-256 of the session id, base64url. */
  readonly session: string;
  /** SHA-256 of the request id as JSON, base64url. Undefined cancels all requests of the session. */
  readonly request: string | undefined;
}

/** The client canceled the request, so no response is sent. */
export class RequestCanceled extends Error {
  constructor() {
    super("The client canceled the request.");
    this.name = "RequestCanceled";
  }
}

/** The session requests that this replica is processing. */
export interface ActiveRequests {
  /** Registers a request. A cancellation on any replica aborts its controller. `requestId` is JSON. */
  start(sessionId: string, requestId: string): ActiveRequest;
  /** Cancels a request on this replica or asks the other replicas to cancel it. Does nothing for a finished request. */
  cancel(sessionId: string, requestId: string): void;
  /** Aborts all requests of an ended session on all replicas with `SessionNotFound`. */
  cancelSession(sessionId: string): void;
}

export interface ActiveRequest {
  readonly controller: AbortController;
  /** Call it once, when the request is finished. */
  readonly end: () => void;
}

interface Entry {
  readonly sessionId: string;
  readonly requestId: string;
  readonly controller: AbortController;
}

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
      deps.log.warn({ err: error }, "could not announce a cancellation");
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
