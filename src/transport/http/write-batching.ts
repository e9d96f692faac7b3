import type { ServerResponse } from "node:http";

/** Writes the responses of one turn of the event loop together. */
export interface WriteBatching {
  /** Ends the response with its content, at the latest after all requests of this turn. */
  send(response: ServerResponse, content: string | Uint8Array): void;
}

/** Maximum number of delayed responses. This many share the cost of waking a client, which then works in parallel. */
const MAX_HELD = 8;

/**
 * Creates the write batching. A turn of the event loop serves all requests that arrived together. A response written
 * separately wakes its client each time, which costs more CPU than serving the request; of several responses written
 * together only the first does.
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
