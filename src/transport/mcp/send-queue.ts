import type { Outlet } from "../http/exchange.ts";

/** Maximum number of notifications waiting for a slow client; further ones are dropped. */
const MAX_WAITING = 1_000;

/** The queue of an event stream. */
export interface SendQueue {
  /** Sends an event. While the client is slow, only the newest event of each key waits. */
  send(key: string, event: string): void;
}

/** A queue with back-pressure. Notifications only trigger a new request, so one of each kind is enough. */
export function createSendQueue(outlet: Outlet): SendQueue {
  const waiting = new Map<string, string>();
  let isBusy = false;

  async function drain(): Promise<void> {
    isBusy = true;
    for (let next = waiting.entries().next(); next.done !== true; next = waiting.entries().next()) {
      const [key, event] = next.value;
      waiting.delete(key);
      if (!(await outlet.write(event))) waiting.clear();
    }
    isBusy = false;
  }

  return {
    send(key, event) {
      if (!waiting.has(key) && waiting.size >= MAX_WAITING) return;
      waiting.set(key, event);
      if (!isBusy) void drain();
    },
  };
}
