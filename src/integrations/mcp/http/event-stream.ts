import { createParser } from "eventsource-parser";

/** One event of a `text/event-stream`. */
export interface StreamEvent {
  readonly type: string;
  readonly data: string;
}

/** Reads server-sent events piece by piece, as they arrive. */
export interface EventStreamReader {
  /** The events that a piece completes. */
  read(chunk: Buffer): readonly StreamEvent[];
  /** The id to resume after, once the server has given one. */
  lastEventId(): string | undefined;
  /** How long the server asks to wait before resuming, in milliseconds. */
  retryMs(): number | undefined;
}

/** Creates a reader that follows the WHATWG rules and drops an unfinished last event. The caller bounds the size of an event. */
export function createEventStreamReader(): EventStreamReader {
  const decoder = new TextDecoder();
  let events: StreamEvent[] = [];
  let lastEventId: string | undefined;
  let retryMs: number | undefined;
  const parser = createParser({
    onEvent: ({ event = "message", data }) => events.push({ type: event, data }),
    onId: (id) => (lastEventId = id),
    onRetry: (ms) => (retryMs = ms),
  });

  return {
    read: (chunk) => {
      events = [];
      parser.feed(decoder.decode(chunk, { stream: true }));
      return events;
    },
    lastEventId: () => lastEventId,
    retryMs: () => retryMs,
  };
}
