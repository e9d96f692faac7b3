import type { HttpExchange, HeaderFields, Outlet } from "../http/exchange.ts";
import { EVENT_STREAM_HEADERS, JSON_HEADERS } from "../http/answer.ts";

export function eventText(message: string, eventId?: string): string {
  // Line breaks in JSON are white space, but they would end the event's line.
  const line = message.includes("\n") || message.includes("\r") ? message.replaceAll(/[\r\n]+/g, " ") : message;
  return `event: message\n${eventId === undefined ? "" : `id: ${eventId}\n`}data: ${line}\n\n`;
}

/** The media types that the client accepts; without an Accept header, both. */
export interface Accepted {
  readonly json: boolean;
  readonly events: boolean;
}

/**
 * Reads an Accept header. Quality values are ignored because clients must accept both types (MCP "Sending Messages").
 * Parameters are ignored because strict matching would reject the `application/json; charset=utf-8` of some clients.
 */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined) return { json: true, events: true };
  const accepts = (type: string, family: string): boolean =>
    header.includes(type) || header.includes(family) || header.includes("*/*");
  return { json: accepts("application/json", "application/*"), events: accepts("text/event-stream", "text/*") };
}

const HEARTBEAT = ": heartbeat\n\n";

/** Carries messages to the client while its request is processed. */
export interface RequestStream {
  /** Whether the client accepts notifications before the result. */
  readonly canNotify: boolean;
  /** Sends a message with back-pressure. */
  notify(text: string): Promise<void>;
  /** Keeps the connection open while the client waits. */
  beat(): void;
}

/** The response to a POST: JSON, or an event stream if a notification precedes the result. */
export class Reply implements RequestStream {
  readonly #exchange: HttpExchange;
  readonly #accepted: Accepted;
  #outlet: Outlet | undefined;
  #isOver = false;
  #isBeating = false;

  constructor(exchange: HttpExchange, accepted: Accepted) {
    this.#exchange = exchange;
    this.#accepted = accepted;
  }

  get canNotify(): boolean {
    return this.#accepted.events;
  }

  /** Sends a notification with back-pressure. Does nothing for a client that accepts only JSON. */
  async notify(text: string): Promise<void> {
    if (this.#isOver || !this.#accepted.events) return;
    this.#outlet ??= this.#exchange.open(200, EVENT_STREAM_HEADERS);
    await this.#outlet.write(eventText(text));
  }

  /** Keeps the connection open while the client waits. A client that accepts only JSON receives nothing. */
  beat(): void {
    this.#exchange.keepOpen();
    if (this.#isOver || !this.#accepted.events || this.#isBeating) return;
    this.#isBeating = true;
    this.#outlet ??= this.#exchange.open(200, EVENT_STREAM_HEADERS);
    void this.#outlet.write(HEARTBEAT).then(() => (this.#isBeating = false));
  }

  /** Sends the result. Status and headers are ignored if a notification was sent before. */
  finish(text: string, status = 200, headers?: HeaderFields): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#outlet !== undefined) this.#end(this.#outlet, text);
    else if (this.#accepted.json || status !== 200) {
      this.#exchange.respond(status, headers === undefined ? JSON_HEADERS : { ...JSON_HEADERS, ...headers }, text);
    } else {
      this.#exchange.respond(200, { ...EVENT_STREAM_HEADERS, ...headers }, eventText(text));
    }
  }

  /** Ends the response of a canceled request without a result. */
  abandon(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#outlet !== undefined) this.#outlet.end();
    else if (this.#accepted.events) this.#exchange.respond(200, EVENT_STREAM_HEADERS, "");
    else this.#exchange.respond(202, {}, "");
  }

  #end(outlet: Outlet, text: string): void {
    void outlet.write(eventText(text));
    outlet.end();
  }
}
