import { EventSourceParserStream } from "eventsource-parser/stream";
import type { EventSourceMessage } from "eventsource-parser";

/** Yields the events of a `text/event-stream` response as they arrive. */
export function serverSentEvents(response: Response): AsyncIterable<EventSourceMessage> {
  if (response.body === null) throw new Error("The response has no body.");
  return response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
}
