import type { HttpExchange, HeaderFields, Outlet } from "../http/exchange.ts";
import { EVENT_STREAM_HEADERS, JSON_HEADERS } from "../http/answer.ts";

/** A message as an event of a stream. */
export function eventText(message: string, eventId?: string): string {
  return `event: message\n${eventId === undefined ? "" : `id: ${eventId}\n`}data: ${message}\n\n`;
}

/** What a client takes for an answer; one that does not say takes both. */
export interface Accepted {
  readonly json: boolean;
  readonly events: boolean;
}

/**
 * Reads an Accept header. Quality values do not matter: the client must accept both (MCP, «Sending Messages»). Parameters do not
 * either, and a negotiation by RFC 9110 would reject the `application/json; charset=utf-8` that some clients send.
 */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined) return { json: true, events: true };
  const accepts = (type: string, family: string): boolean =>
    header.includes(type) || header.includes(family) || header.includes("*/*");
  return { json: accepts("application/json", "application/*"), events: accepts("text/event-stream", "text/*") };
}

/**
 * The answer to one POST: JSON in one piece, unless something is to be said before it is complete; then an event stream.
 */
export class Reply {
  readonly #exchange: HttpExchange;
  readonly #accepted: Accepted;
  #outlet: Outlet | undefined;
  #isOver = false;

  constructor(exchange: HttpExchange, accepted: Accepted) {
    this.#exchange = exchange;
    this.#accepted = accepted;
  }

  /** Whether notifications can reach the client ahead of the answer. */
  get canNotify(): boolean {
    return this.#accepted.events;
  }

  /** Sends a notification as soon as the client takes it. A client that wants JSON alone misses it. */
  async notify(text: string): Promise<void> {
    if (this.#isOver || !this.#accepted.events) return;
    this.#outlet ??= this.#exchange.open(200, EVENT_STREAM_HEADERS);
    await this.#outlet.write(eventText(text));
  }

  /** Sends the answer. Its status and headers count only while nothing was sent before. */
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

  /** Ends it with nothing: a request that was cancelled gets no answer. */
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
