import type { ServerResponse } from "node:http";

/** Holds answers back until the event loop's turn ends. */
export interface TurnEnd {
  /** Ends the answer with its content, at the latest when everything that arrived in this turn was looked at. */
  send(response: ServerResponse, content: string | Uint8Array): void;
}

/** Answers that are held back at most: so many share the price of waking a client, who works on them beside us from then on. */
const MAX_HELD = 8;

/**
 * Makes the end of turns. A turn serves as many requests as arrived together. Written one by one, each answer wakes a client
 * that has gone back to sleep since the last, and that costs more than all that was done for it; of several the first does.
 */
export function createTurnEnd(): TurnEnd {
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
