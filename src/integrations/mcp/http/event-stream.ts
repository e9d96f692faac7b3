import { createParser } from "eventsource-parser";

export interface StreamEvent {
  readonly type: string;
  readonly data: string;
}

export interface EventStreamReader {
  /** Returns the events that this chunk completes. */
  read(chunk: Buffer): readonly StreamEvent[];
  /** The id to resume after, if the server sent one. */
  lastEventId(): string | undefined;
  /** The requested reconnection delay in milliseconds. */
  retryMs(): number | undefined;
}

/** Follows the WHATWG rules and drops an unfinished last event. The caller bounds the size of an event. */
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
