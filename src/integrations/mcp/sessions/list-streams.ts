import type { JsonObject } from "../../../json.ts";
import type { UpstreamNotification } from "../../features.ts";
import type { Target } from "../../target.ts";
import { fingerprint } from "../http/endpoint.ts";

const SWEEP_MS = 60_000;
/** Maximum number of streams without listeners that are kept open because of recent calls. */
const MAX_STREAMS = 1_000;

/** Milliseconds that a call waits for its upstream's stream to open. */
const STREAM_WAIT_MS = 500;

/**
 * Opens one notification stream per connection, while somebody listens and for some time after each call: many
 * servers send list changes and requests only to the session that called.
 */
export interface ListStreams {
  /** Returns a function that stops listening. */
  listen(target: Target, listener: (notification: UpstreamNotification) => void): () => void;
  /** Keeps the stream open without a listener. Returns a promise while the stream is opening; it never rejects. */
  keepOpen(target: Target): Promise<void> | undefined;
  forget(connectionId: number): void;
  close(): void;
}

export interface ListStreamsDeps {
  /** Keeps a connection's stream open until stopped. Calls `onSettled` after each attempt to open it. */
  readonly open: (
    target: Target,
    listener: (notification: UpstreamNotification) => void,
    onSettled: () => void,
  ) => () => void;
  /** Milliseconds that a stream stays open after a call. */
  readonly idleMs: number;
  /** Whether a call of the connection is running. */
  readonly isInUse: (connectionId: number) => boolean;
}

interface ListStream {
  readonly keyVersion: number;
  readonly fingerprint: string;
  /** The last configuration object; the same object needs no comparison. */
  configuration: JsonObject;
  readonly listeners: Set<(notification: UpstreamNotification) => void>;
  readonly stop: () => void;
  /** Set until the stream is open, has failed or timed out. */
  opening: Promise<void> | undefined;
  /** On the clock of `performance.now()`. */
  usedMs: number;
}

/** A new key or destination opens a new stream. */
export function createListStreams({ open, idleMs, isInUse }: ListStreamsDeps): ListStreams {
  const streams = new Map<number, ListStream>();
  const sweep = setInterval(closeIdle, Math.min(SWEEP_MS, idleMs)).unref();

  function closeIdle(): void {
    const since = performance.now() - idleMs;
    for (const [id, stream] of streams) {
      if (isInUse(id)) stream.usedMs = performance.now();
      else if (stream.listeners.size === 0 && stream.usedMs < since) forget(id);
    }
  }

  function forget(connectionId: number): void {
    streams.get(connectionId)?.stop();
    streams.delete(connectionId);
  }

  function start(target: Target): ListStream {
    // Listeners of the previous key keep listening.
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
