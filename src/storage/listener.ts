import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Logger } from "pino";
import { BoundedClient } from "./pool/bounded-client.ts";
import { ignoreError } from "./ignore-error.ts";

/** Receives the messages that replicas send with PostgreSQL's NOTIFY. */
export interface Listener {
  /**
   * Calls `hear` with the payload of each message on the channel, from the moment the promise resolves, or from the
   * next connect on.
   */
  listen(channel: string, hear: (payload: string) => void): Promise<void>;
  /**
   * Calls `resume` after every connect, including the first. Messages sent without a connection are lost, so caches
   * that depend on them must be dropped or reloaded. The listener is healthy only after every `resume` has succeeded;
   * if one fails, it reconnects.
   */
  onReconnect(resume: () => void | Promise<void>): void;
  /** Whether the connection has responded within the last second. If not, cached state may be stale. */
  isHealthy(): boolean;
  close(): Promise<void>;
}

const HEARTBEAT_MS = 400;
const HEALTHY_FOR_MS = 1_000;
/** A connection that is silent for this long is replaced. */
const SILENCE_LIMIT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 5_000;
const BACK_OFF_MIN_MS = 100;
const BACK_OFF_MAX_MS = 2_000;

/** Listens on its own connection. Returns at once and connects in the background, with unlimited retries. */
export function createListener(options: { readonly url: string; readonly log: Logger }): Listener {
  const { url, log } = options;
  const hearers = new Map<string, ((payload: string) => void)[]>();
  const resumers: (() => void | Promise<void>)[] = [];
  const closing = new AbortController();
  let client: pg.Client | undefined;
  let answeredAt = Number.NEGATIVE_INFINITY;

  const connect = async (): Promise<pg.Client> => {
    const next = new BoundedClient({
      connectionString: url,
      application_name: "patchbay listener",
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      // Limits the wait for every response, including heartbeats.
      query_timeout: SILENCE_LIMIT_MS,
      keepAlive: true,
    });
    next.on("error", ignoreError);
    next.on("notification", ({ channel, payload = "" }) => {
      for (const hear of hearers.get(channel) ?? []) {
        try {
          hear(payload);
        } catch (error) {
          log.error({ err: error, channel }, "a message from another replica could not be processed");
        }
      }
    });
    try {
      await next.connect();
      for (const channel of hearers.keys()) await next.query(`listen ${next.escapeIdentifier(channel)}`);
      return next;
    } catch (error) {
      void next.end().catch(ignoreError);
      throw error;
    }
  };

  /** Returns when the connection is lost or the listener closes. */
  const stayConnected = async (connected: pg.Client): Promise<void> => {
    const lost = new AbortController();
    connected.once("end", () => lost.abort());
    const until = AbortSignal.any([lost.signal, closing.signal]);
    while (!until.aborted) {
      await connected.query("select 1");
      answeredAt = performance.now();
      await sleep(HEARTBEAT_MS, undefined, { signal: until }).catch(ignoreError);
    }
  };

  const run = async (): Promise<void> => {
    let backOffMs = BACK_OFF_MIN_MS;
    const isClosing = (): boolean => closing.signal.aborted;
    while (!isClosing()) {
      let connected: pg.Client | undefined;
      try {
        connected = await connect();
        client = connected;
        // Channels requested while this connection was being opened.
        for (const channel of hearers.keys()) await connected.query(`listen ${connected.escapeIdentifier(channel)}`);
        for (const resume of resumers) await resume();
        backOffMs = BACK_OFF_MIN_MS;
        await stayConnected(connected);
        if (!isClosing()) log.warn("lost the connection that listens to PostgreSQL; reconnecting");
      } catch (error) {
        if (!isClosing()) log.warn({ err: error }, "cannot listen to PostgreSQL; retrying");
      } finally {
        client = undefined;
        answeredAt = Number.NEGATIVE_INFINITY;
        void connected?.end().catch(ignoreError);
      }
      await sleep(backOffMs, undefined, { signal: closing.signal }).catch(ignoreError);
      backOffMs = Math.min(backOffMs * 2, BACK_OFF_MAX_MS);
    }
  };
  const running = run();

  return {
    async listen(channel, hear) {
      const known = hearers.get(channel);
      if (known !== undefined) {
        known.push(hear);
        return;
      }
      hearers.set(channel, [hear]);
      // Without a connection, the next connect subscribes. If the statement fails, the connection is lost and the same
      // happens.
      await client?.query(`listen ${client.escapeIdentifier(channel)}`).catch(ignoreError);
    },
    onReconnect(resume) {
      resumers.push(resume);
    },
    isHealthy: () => performance.now() - answeredAt < HEALTHY_FOR_MS,
    async close() {
      closing.abort();
      await client?.end().catch(ignoreError);
      await running;
    },
  };
}
