import type { UpstreamNotification } from "../../features.ts";
import type { RelayedClient } from "../../relayed-client.ts";
import { isJsonObject, printJson, type JsonObject } from "../../../json.ts";
import type { StreamEvent } from "../http/event-stream.ts";
import { messagesIn } from "./json-rpc.ts";

/** The receiver of the response to a request. */
export interface ChannelReader {
  /** Receives a notification that belongs to the request. */
  onNotification(text: string): void;
  onResponse(text: string): void;
  /** The channel was closed before the response. */
  onClosed(error: unknown): void;
}

/** The stream of HTTP+SSE (2024-11-05): the server sends all messages of a session on it and receives them by POST. */
export interface EventChannel {
  /** Path and query that messages are posted to. */
  readonly path: string;
  readonly nextRequestId: () => number;
  /** The clients of the running calls, newest last. */
  readonly clients: Set<RelayedClient>;
  /** Aborted when the channel is closed, by either side. */
  readonly closing: AbortController;
  /** Receives what belongs to a request until the returned function is called. */
  expect(id: number, reader: ChannelReader): () => void;
  /** Receives notifications that belong to no request until the returned function is called. */
  follow(listener: (notification: UpstreamNotification) => void): () => void;
}

/** A channel with the functions that pass events to it. */
export interface ChannelInput {
  readonly channel: EventChannel;
  /** Handles an event of the stream. */
  onEvent(event: StreamEvent): void;
  /** Passes a notification to the listeners of the channel. */
  announce(notification: UpstreamNotification): void;
  /** Fails everything that waits for the channel. */
  close(error: unknown): void;
}

/** `onMessage` handles requests of the server and notifications that belong to no request. */
export function createEventChannel(
  path: string,
  closing: AbortController,
  onMessage: (text: string) => void,
): ChannelInput {
  const readers = new Map<number, ChannelReader>();
  const followers = new Set<(notification: UpstreamNotification) => void>();
  let lastId = 0;

  function route(message: JsonObject, text: string): void {
    const { method, id, params } = message;
    if (method === undefined) {
      if (typeof id === "number") readers.get(id)?.onResponse(text);
    } else if (method === "notifications/progress") {
      const token = isJsonObject(params) ? params.progressToken : undefined;
      if (typeof token === "number") readers.get(token)?.onNotification(text);
    } else if (method === "notifications/message") {
      // A log message does not say which request it belongs to, and another caller must not see it.
      const [only, ...others] = readers.values();
      if (others.length === 0) only?.onNotification(text);
    } else onMessage(text);
  }

  return {
    channel: {
      path,
      closing,
      clients: new Set(),
      nextRequestId: () => (lastId += 1),
      expect(id, reader) {
        readers.set(id, reader);
        return () => readers.delete(id);
      },
      follow(listener) {
        followers.add(listener);
        return () => followers.delete(listener);
      },
    },
    onEvent({ type, data }) {
      if (type !== "message") return;
      const messages = messagesIn(data);
      for (const message of messages) route(message, messages.length === 1 ? data : printJson(message));
    },
    announce(notification) {
      for (const follower of [...followers]) follower(notification);
    },
    close(error) {
      closing.abort();
      for (const reader of [...readers.values()]) reader.onClosed(error);
    },
  };
}

/** Resolves when the channel is closed. Throws the signal's reason. */
export async function followChannel(
  channel: EventChannel,
  listener: (notification: UpstreamNotification) => void,
  onStream: (() => void) | undefined,
  signal: AbortSignal,
): Promise<void> {
  const stop = channel.follow(listener);
  onStream?.();
  const either = AbortSignal.any([channel.closing.signal, signal]);
  try {
    if (!either.aborted) await new Promise((resolve) => either.addEventListener("abort", resolve, { once: true }));
    signal.throwIfAborted();
  } finally {
    stop();
  }
}
