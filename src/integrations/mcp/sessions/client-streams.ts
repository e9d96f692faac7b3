import type { UpstreamNotification } from "../../features.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";
import type { Requester } from "./request.ts";
import type { UpstreamSession } from "./session.ts";

/** How long a call waits for the stream of its session, in milliseconds. */
const STREAM_WAIT_MS = 2_000;
/** The failures of servers without such a stream; many answer 404. */
const REFUSALS: ReadonlySet<UpstreamFailure["kind"]> = new Set(["http", "session_lost"]);

/**
 * The streams of sessions that belong to one client. Some servers send requests there instead of in the response to the
 * call that they belong to.
 */
export interface ClientStreams {
  /**
   * Opens the session's stream unless it is open. Resolves when it is open or the server does not offer one. Never
   * rejects.
   */
  open(session: UpstreamSession, onNotification: (notification: UpstreamNotification) => void): ClientStream;
}

export interface ClientStream {
  readonly opened: Promise<void>;
  /** Resolves when the stream may be opened again. Never rejects; stays pending if the server does not offer one. */
  readonly ended: Promise<void>;
}

export function createClientStreams(requester: Requester): ClientStreams {
  const streams = new WeakMap<UpstreamSession, ClientStream>();
  return {
    open(session, onNotification) {
      const known = streams.get(session);
      if (known !== undefined) return known;
      const { promise, resolve } = Promise.withResolvers<undefined>();
      const timer = setTimeout(resolve, STREAM_WAIT_MS, undefined).unref();
      const settle = (): void => {
        clearTimeout(timer);
        resolve(undefined);
      };
      const { promise: ended, resolve: end } = Promise.withResolvers<undefined>();
      void requester
        .listen(session, {
          uris: [],
          listener: onNotification,
          client: () => [...session.clients].at(-1),
          onStream: settle,
          signal: session.closing.signal,
        })
        // The next call reopens a stream that was closed or lost, but not one that the server does not offer.
        .then(() => true)
        .catch((error: unknown) => !(error instanceof UpstreamFailure && REFUSALS.has(error.kind)))
        .then((mayReopen) => {
          settle();
          if (!mayReopen) return;
          streams.delete(session);
          end(undefined);
        });
      const stream = { opened: promise, ended };
      streams.set(session, stream);
      return stream;
    },
  };
}
