import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { ResourceWatch, UpstreamNotification } from "../../features.ts";
import type { ClientIdentity } from "../../relayed-client.ts";
import type { Target } from "../../target.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";
import type { ListenRequest, Requester } from "./request.ts";
import type { UpstreamSession } from "./session.ts";
import type { UpstreamSessions } from "./sessions.ts";

/** Milliseconds between attempts; the pause doubles up to the maximum. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 300_000;
/** A stream that lasted so many milliseconds resets the pause. */
const STABLE_STREAM_MS = 30_000;
/** Streams to one origin; each occupies a socket that calls could use. */
const MAX_STREAMS_PER_ORIGIN = 32;

export interface UpstreamWatchDeps {
  readonly sessions: UpstreamSessions;
  readonly requester: Requester;
  readonly log: Logger;
  /** Time limit of one subscription, in milliseconds. */
  readonly timeoutMs: number;
  readonly onNotification: (connectionId: number, notification: UpstreamNotification) => void;
  /** Opens the stream on which a server with sessions notifies the session of the client's calls. */
  readonly openStream: (target: Target, session: UpstreamSession, client: ClientIdentity | undefined) => SessionStream;
}

/** The stream on which a server notifies a session outside requests. */
export interface SessionStream {
  /** Resolves when it is open or the server does not offer it. Never rejects. */
  readonly opened: Promise<void> | undefined;
  /** Resolves when the stream has ended. Undefined if it is reopened by itself. Never rejects. */
  readonly ended: Promise<void> | undefined;
  /** Must be called when nobody listens any more. */
  release(): void;
}

/** The subscription of a session to one resource. */
interface Subscription {
  watches: number;
  /** Resolves when the server has accepted or refused it. */
  readonly answered: Promise<void>;
}

/** Listens for notifications outside requests until stopped, in the sessions of tool calls. Never throws. */
export interface UpstreamWatcher {
  /** Calls `onSettled` after each attempt to open the stream. */
  watchLists(target: Target, listener: (notification: UpstreamNotification) => void, onSettled: () => void): () => void;
  watchResources(
    target: Target,
    uris: readonly string[],
    client: ClientIdentity | undefined,
    listener: (uri: string) => void,
  ): ResourceWatch;
  /** Reports a changed resource to the watches of the connection. */
  report(connectionId: number, uri: string): void;
}

/** Retries with growing pauses when a server offers no stream for notifications, or too many are open to its origin. */
export function createUpstreamWatcher(deps: UpstreamWatchDeps): UpstreamWatcher {
  const { sessions, requester, log, timeoutMs, onNotification, openStream } = deps;
  const openByOrigin = new Map<string, number>();
  const listenersOf = new Map<number, Set<(uri: string) => void>>();
  /** By URI. */
  const subscriptions = new WeakMap<UpstreamSession, Map<string, Subscription>>();

  async function listen(session: UpstreamSession, request: ListenRequest): Promise<void> {
    const { origin, label } = session.endpoint;
    const open = openByOrigin.get(origin) ?? 0;
    if (open >= MAX_STREAMS_PER_ORIGIN) {
      throw new UpstreamFailure("refused", `Too many streams to ${label} are open.`);
    }
    openByOrigin.set(origin, open + 1);
    try {
      await requester.listen(session, request);
    } finally {
      const left = (openByOrigin.get(origin) ?? 1) - 1;
      if (left > 0) openByOrigin.set(origin, left);
      else openByOrigin.delete(origin);
    }
  }

  async function repeat({ connectionId }: Target, signal: AbortSignal, attempt: () => Promise<void>): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const startedMs = performance.now();
      await attempt().catch((error: unknown) => {
        if (signal.aborted) return;
        const reason = error instanceof UpstreamFailure ? error.message : "unexpected";
        log.debug({ connectionId, reason }, "cannot listen to an MCP server");
      });
      if (performance.now() - startedMs > STABLE_STREAM_MS) pauseMs = FIRST_PAUSE_MS;
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    }
  }

  function hear(connectionId: number, listener: (uri: string) => void): () => void {
    const listeners = listenersOf.get(connectionId) ?? new Set();
    listenersOf.set(connectionId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && listenersOf.get(connectionId) === listeners) listenersOf.delete(connectionId);
    };
  }

  async function send(session: UpstreamSession, method: string, uri: string): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    await requester.request(session, { method, params: { uri }, deadlineMs, signal: session.closing.signal });
  }

  async function subscribe(session: UpstreamSession, uri: string): Promise<void> {
    try {
      await send(session, "resources/subscribe", uri);
    } catch (error) {
      // A server that refuses one resource, such as a deleted one, still reports the others.
      if (!(error instanceof UpstreamFailure) || error.answer === undefined) throw error;
      log.debug({ uri, reason: error.message }, "an MCP server rejected a subscription");
    }
  }

  /** Subscribes to the resources that nobody else watches in the session, one after the other, when `opened`. */
  async function retain(
    session: UpstreamSession,
    uris: readonly string[],
    opened: Promise<void> | undefined,
  ): Promise<void> {
    const known = subscriptions.get(session) ?? new Map<string, Subscription>();
    subscriptions.set(session, known);
    let last: Promise<void> = opened ?? Promise.resolve();
    const answers = uris.map((uri) => {
      const own = known.get(uri);
      if (own !== undefined) {
        own.watches += 1;
        return own.answered;
      }
      const answered = last.then(() => subscribe(session, uri));
      // The first failure fails the watch below.
      last = answered.catch(() => undefined);
      known.set(uri, { watches: 1, answered });
      return answered;
    });
    await Promise.all(answers);
  }

  /** Unsubscribes from the resources that nobody else watches in the session. */
  function release(session: UpstreamSession, uris: readonly string[]): void {
    const known = subscriptions.get(session);
    for (const uri of uris) {
      const own = known?.get(uri);
      if (own === undefined) continue;
      own.watches -= 1;
      if (own.watches > 0) continue;
      known?.delete(uri);
      if (!session.closing.signal.aborted) send(session, "resources/unsubscribe", uri).catch(() => undefined);
    }
  }

  return {
    watchLists(target, listener, onSettled) {
      const controller = new AbortController();
      const { signal } = controller;
      const pass = (notification: UpstreamNotification): void => {
        if (signal.aborted) return;
        onNotification(target.connectionId, notification);
        listener(notification);
      };
      const attempt = (): Promise<void> =>
        sessions.use(target, { repeatable: false, isPassive: true, signal }, async (session) => {
          try {
            await listen(session, { uris: [], listener: pass, onStream: onSettled, signal });
          } catch (error) {
            // Many servers without such a stream answer 404 to GET, which says nothing about the session.
            const isUncertain = error instanceof UpstreamFailure && error.kind === "session_lost";
            throw isUncertain ? new UpstreamFailure("http", error.message, { cause: error }) : error;
          }
        });
      void repeat(target, signal, () => attempt().finally(onSettled));
      return () => controller.abort();
    },

    watchResources(target, uris, client, listener) {
      const { connectionId } = target;
      const controller = new AbortController();
      const { signal } = controller;
      const { promise: settled, resolve } = Promise.withResolvers<undefined>();
      const settle = (): void => resolve(undefined);
      const pass = (notification: UpstreamNotification): void => {
        if (signal.aborted) return;
        if (notification.kind === "updated") listener(notification.uri);
        else onNotification(connectionId, notification);
      };

      async function watchIn(session: UpstreamSession): Promise<void> {
        if (session.revision === "modern") {
          await listen(session, { uris, listener: pass, onStream: settle, signal });
          return;
        }
        const stopHearing = hear(connectionId, listener);
        const stream = openStream(target, session, client);
        const stopped = AbortSignal.any([signal, session.closing.signal]);
        const end = stopped.aborted ? Promise.resolve() : once(stopped, "abort").then(() => undefined);
        try {
          // The subscriptions are counted at once, and sent when the stream is open, so that no change is missed.
          const retained = retain(session, uris, stream.opened);
          retained.then(settle, settle);
          await Promise.race([retained, end]);
          await Promise.race([end, ...(stream.ended === undefined ? [] : [stream.ended])]);
        } finally {
          stopHearing();
          stream.release();
          release(session, uris);
        }
      }
      void repeat(target, signal, () =>
        sessions.use(target, { repeatable: false, client, signal }, watchIn).finally(settle),
      );
      return { settled, stop: () => controller.abort() };
    },

    report(connectionId, uri) {
      for (const listener of listenersOf.get(connectionId) ?? []) listener(uri);
    },
  };
}
