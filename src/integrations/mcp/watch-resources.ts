import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { UpstreamNews } from "../features.ts";
import type { Target } from "../integration.ts";
import { endpointOf } from "./endpoint.ts";
import { openSession } from "./open-session.ts";
import type { Requester } from "./request.ts";
import { UpstreamFailure } from "./upstream-failure.ts";

/** Pauses between attempts, in milliseconds: the first, and the longest that doubling leads to. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;
/** A stream that lasted so long, in milliseconds, was a good one: the next attempt comes soon. */
const GOOD_STREAM_MS = 30_000;

/** What watching needs. */
export interface WatchDeps {
  readonly requester: Requester;
  readonly log: Logger;
  readonly timeoutMs: number;
}

/**
 * Hears of changes of resources over a stream of its own, in a session of its own: others who share the connection neither
 * hear of these subscriptions nor end them. A server without such streams is asked again ever more rarely.
 */
export function watchResources(
  deps: WatchDeps,
  target: Target,
  uris: readonly string[],
  hear: (news: UpstreamNews) => void,
): () => void {
  const controller = new AbortController();
  const { signal } = controller;

  async function follow(): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const startedMs = performance.now();
      await watchOnce(deps, target, uris, hear, signal).catch((error: unknown) => {
        if (signal.aborted) return;
        const reason = error instanceof UpstreamFailure ? error.message : "unexpected";
        deps.log.debug({ connectionId: target.connectionId, reason }, "resources of an MCP server are not watched");
      });
      pauseMs = performance.now() - startedMs > GOOD_STREAM_MS ? FIRST_PAUSE_MS : pauseMs;
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  void follow();
  return () => controller.abort();
}

/** Watches until the stream ends. */
async function watchOnce(
  { requester, timeoutMs }: WatchDeps,
  target: Target,
  uris: readonly string[],
  hear: (news: UpstreamNews) => void,
  signal: AbortSignal,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  const session = await openSession(requester, endpointOf(target.configuration), deadlineMs, signal);
  const stop = new AbortController();
  try {
    // First the stream, then the subscriptions: what changes in between is heard.
    const stream = requester.listen(session, { uris, hear, signal: AbortSignal.any([signal, stop.signal]) });
    stream.catch(() => undefined);
    if (session.era === "handshake") {
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
