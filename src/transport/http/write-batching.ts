import type { ServerResponse } from "node:http";

/** Writes the answers of one turn of the event loop together. */
export interface WriteBatching {
  /** Ends the answer with its content, at the latest when everything that arrived in this turn was looked at. */
  send(response: ServerResponse, content: string | Uint8Array): void;
}

/** Answers that are held back at most: so many share the price of waking a client, who works on them beside us from then on. */
const MAX_HELD = 8;

/**
 * Creates the batching of writes. A turn of the event loop serves all requests that arrived together. An answer that is written
 * by itself wakes its client each time, which costs more CPU than serving the request; of several written together only the
 * first does.
 */
export function createWriteBatching(): WriteBatching {
  let held: { readonly response: ServerResponse; readonly content: string | Uint8Array }[] = [];

  const sendHeld = (): void => {
    const sent = held;
    held = [];
    for (const { response, content } of sent) {
      if (!response.destroyed) response.end(content);
    }
  };

  return {
    send(response, content) {
      const count = held.push({ response, content });
      if (count === MAX_HELD) sendHeld();
      else if (count === 1) setImmediate(sendHeld);
    },
  };
}
