import type { JsonObject } from "../../../json.ts";
import type { UpstreamNotification } from "../../features.ts";
import type { Target } from "../../target.ts";
import { fingerprint } from "../http/endpoint.ts";

const SWEEP_MS = 60_000;
/** Streams of connections that nobody listens to, kept because their tools are called. */
const MAX_STREAMS = 1_000;

/** How long a call waits for the stream that its upstream may ask something on, in milliseconds. */
const STREAM_WAIT_MS = 500;

/**
 * One stream a connection on which its upstream says what belongs to no request. It is open while somebody listens, and for
 * a while after each call: what a call changes, many servers tell to the session that called alone, and what they ask there
 * in the midst of a call must be answered before they go on.
 */
export interface ListStreams {
  /** Listens until told to stop. */
  listen(target: Target, listener: (notification: UpstreamNotification) => void): () => void;
  /** Listens for a while, for whoever hears of all news. A promise while the stream is being opened; it never rejects. */
  keepOpen(target: Target): Promise<void> | undefined;
  /** Stops listening to a connection. */
  forget(connectionId: number): void;
  /** Stops listening to all. */
  close(): void;
}

/** What the streams need. */
export interface ListStreamsDeps {
  /** Opens a connection's stream, again and again until stopped; tells whenever that has come to a stream or to nothing. */
  readonly open: (
    target: Target,
    listener: (notification: UpstreamNotification) => void,
    onSettled: () => void,
  ) => () => void;
  /** How long a stream is kept after a call, in milliseconds. */
  readonly idleMs: number;
}

interface ListStream {
  readonly keyVersion: number;
  readonly fingerprint: string;
  /** The configuration it was last used with: the same object needs no second look. */
  configuration: JsonObject;
  readonly listeners: Set<(notification: UpstreamNotification) => void>;
  readonly stop: () => void;
  /** Until it is known whether there is a stream, or nobody waits for it any longer. */
  opening: Promise<void> | undefined;
  /** Monotonic milliseconds. */
  usedMs: number;
}

/** Streams by connection; a new key or destination means a new stream. */
export function createListStreams({ open, idleMs }: ListStreamsDeps): ListStreams {
  const streams = new Map<number, ListStream>();
  const sweep = setInterval(closeIdle, Math.min(SWEEP_MS, idleMs)).unref();

  function closeIdle(): void {
    const since = performance.now() - idleMs;
    for (const [id, { listeners, usedMs }] of streams) if (listeners.size === 0 && usedMs < since) forget(id);
  }

  function forget(connectionId: number): void {
    streams.get(connectionId)?.stop();
    streams.delete(connectionId);
  }

  function start(target: Target): ListStream {
    // Who listened with an earlier key goes on listening.
    const listeners =
      streams.get(target.connectionId)?.listeners ?? new Set<(notification: UpstreamNotification) => void>();
    forget(target.connectionId);
    const { promise, resolve: settle } = Promise.withResolvers<undefined>();
    const timer = setTimeout(settle, STREAM_WAIT_MS, undefined).unref();
    const notify = (notification: UpstreamNotification): void => {
      for (const listener of [...listeners]) listener(notification);
    };
    const stop = open(target, notify, () => settle(undefined));
    const opening = promise.then(() => {
      clearTimeout(timer);
      stream.opening = undefined;
    });
    const { keyVersion, configuration } = target;
    const print = fingerprint(configuration);
    const usedMs = performance.now();
    const stream: ListStream = { keyVersion, fingerprint: print, configuration, listeners, stop, opening, usedMs };
    streams.set(target.connectionId, stream);
    return stream;
  }

  function current({ connectionId, keyVersion, configuration }: Target): ListStream | undefined {
    const known = streams.get(connectionId);
    if (known?.keyVersion !== keyVersion) return undefined;
    if (known.configuration === configuration) return known;
    if (known.fingerprint !== fingerprint(configuration)) return undefined;
    known.configuration = configuration;
    return known;
  }

  return {
    listen(target, listener) {
      const stream = current(target) ?? start(target);
      stream.listeners.add(listener);
      return () => {
        stream.listeners.delete(listener);
        stream.usedMs = performance.now();
      };
    },
    keepOpen(target) {
      const known = current(target);
      if (known === undefined) return streams.size < MAX_STREAMS ? start(target).opening : undefined;
      known.usedMs = performance.now();
      return known.opening;
    },
    forget,
    close() {
      clearInterval(sweep);
      for (const id of [...streams.keys()]) forget(id);
    },
  };
}
