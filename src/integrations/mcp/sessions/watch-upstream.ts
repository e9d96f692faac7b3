import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { UpstreamNotification } from "../../features.ts";
import type { Target } from "../../target.ts";
import type { GrantedTokens } from "../../oauth/granted-tokens.ts";
import { endpointFor, type Endpoint } from "../http/endpoint.ts";
import { openSession } from "./open-session.ts";
import type { Requester } from "./request.ts";
import type { UpstreamSessions } from "./sessions.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";

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
  readonly tokens?: GrantedTokens | undefined;
  readonly log: Logger;
  readonly timeoutMs: number;
  readonly onNotification: (connectionId: number, notification: UpstreamNotification) => void;
}

interface Watch {
  readonly target: Target;
  readonly uris: readonly string[];
  readonly listener: (notification: UpstreamNotification) => void;
  /** Called after each attempt to open a stream. */
  readonly onSettled: (() => void) | undefined;
  readonly signal: AbortSignal;
}

/** Listens for notifications outside requests until stopped. Never throws. */
export interface UpstreamWatcher {
  watchResources(
    target: Target,
    uris: readonly string[],
    listener: (notification: UpstreamNotification) => void,
  ): () => void;
  /** Listens in the session of tool calls. */
  watchLists(target: Target, listener: (notification: UpstreamNotification) => void, onSettled: () => void): () => void;
}

/** Retries with growing pauses when a server has no such stream or too many streams to its origin are open. */
export function createUpstreamWatcher(deps: UpstreamWatchDeps): UpstreamWatcher {
  const openByOrigin = new Map<string, number>();

  async function attempt(watch: Watch): Promise<void> {
    const endpoint = endpointFor(watch.target, deps.tokens);
    const { origin, label } = endpoint;
    const open = openByOrigin.get(origin) ?? 0;
    if (open >= MAX_STREAMS_PER_ORIGIN) {
      throw new UpstreamFailure("refused", `Too many streams to ${label} are open.`);
    }
    openByOrigin.set(origin, open + 1);
    try {
      await (watch.uris.length === 0 ? watchLists(deps, watch) : watchResources(deps, watch, endpoint));
    } finally {
      const left = (openByOrigin.get(origin) ?? 1) - 1;
      if (left > 0) openByOrigin.set(origin, left);
      else openByOrigin.delete(origin);
    }
  }

  async function follow(watch: Watch): Promise<void> {
    const { signal, target } = watch;
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const startedMs = performance.now();
      await attempt(watch).catch((error: unknown) => {
        if (signal.aborted) return;
        const reason = error instanceof UpstreamFailure ? error.message : "unexpected";
        deps.log.debug({ connectionId: target.connectionId, reason }, "cannot listen to an MCP server");
      });
      watch.onSettled?.();
      if (performance.now() - startedMs > STABLE_STREAM_MS) pauseMs = FIRST_PAUSE_MS;
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    }
  }

  const watch = (
    target: Target,
    uris: readonly string[],
    listener: (notification: UpstreamNotification) => void,
    onSettled?: () => void,
  ): (() => void) => {
    const controller = new AbortController();
    const { signal } = controller;
    const both = (notification: UpstreamNotification): void => {
      if (signal.aborted) return;
      // Listeners of the lists must be notified too.
      if (notification.kind === "list_changed") deps.onNotification(target.connectionId, notification);
      listener(notification);
    };
    void follow({ target, uris, listener: both, onSettled, signal });
    return () => controller.abort();
  };
  return {
    watchResources: (target, uris, listener) => watch(target, uris, listener),
    watchLists: (target, listener, onSettled) => watch(target, [], listener, onSettled),
  };
}

async function watchLists({ sessions, requester }: UpstreamWatchDeps, watch: Watch): Promise<void> {
  const { target, listener, onSettled, signal } = watch;
  await sessions.use(target, { repeatable: false, isPassive: true, signal }, async (session) => {
    try {
      await requester.listen(session, { uris: [], listener, onStream: onSettled, signal });
    } catch (error) {
      // Many servers without such a stream answer 404 to GET, which says nothing about the session.
      const isUncertain = error instanceof UpstreamFailure && error.kind === "session_lost";
      throw isUncertain ? new UpstreamFailure("http", error.message, { cause: error }) : error;
    }
  });
}

/** Uses a separate session, so that other users of the connection neither receive nor end these subscriptions. */
async function watchResources(
  { requester, timeoutMs }: UpstreamWatchDeps,
  watch: Watch,
  endpoint: Endpoint,
): Promise<void> {
  const { uris, listener, signal } = watch;
  const deadlineMs = performance.now() + timeoutMs;
  const session = await openSession(requester, endpoint, deadlineMs, signal);
  const stop = new AbortController();
  try {
    // The stream opens before the subscriptions, so that no change is missed.
    const stream = requester.listen(session, { uris, listener, signal: AbortSignal.any([signal, stop.signal]) });
    stream.catch(() => undefined);
    if (session.revision === "legacy") {
      for (const uri of uris) {
        await requester.request(session, { method: "resources/subscribe", params: { uri }, deadlineMs, signal });
      }
    }
    await stream;
  } finally {
    stop.abort();
    requester.close(session);
  }
}
