import type { UpstreamNotification } from "../../features.ts";
import type { Requester } from "./request.ts";
import type { UpstreamSession } from "./session.ts";

/** How long a call waits for the stream of its session, in milliseconds. */
const STREAM_WAIT_MS = 2_000;

/**
 * The streams of sessions that belong to one client. Some servers send requests there instead of in the response to the
 * call that they belong to.
 */
export interface ClientStreams {
  /**
   * Opens the session's stream unless it is open. Resolves when it is open or the server does not offer one. Never
   * rejects.
   */
  open(session: UpstreamSession, onNotification: (notification: UpstreamNotification) => void): Promise<undefined>;
}

export function createClientStreams(requester: Requester): ClientStreams {
  const opened = new WeakMap<UpstreamSession, Promise<undefined>>();
  return {
    open(session, onNotification) {
      const known = opened.get(session);
      if (known !== undefined) return known;
      const { promise, resolve } = Promise.withResolvers<undefined>();
      opened.set(session, promise);
      const timer = setTimeout(resolve, STREAM_WAIT_MS, undefined).unref();
      const settle = (): void => {
        clearTimeout(timer);
        resolve(undefined);
      };
      requester
        .listen(session, {
          uris: [],
          listener: onNotification,
          client: () => [...session.clients].at(-1),
          onStream: settle,
          signal: session.closing.signal,
        })
        // The next call reopens a stream that the server has closed.
        .then(() => opened.delete(session))
        .catch(() => undefined)
        .finally(settle);
      return promise;
    },
  };
}
