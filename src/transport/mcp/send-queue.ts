import type { Outlet } from "../http/exchange.ts";

/** Notifications that wait at most for a client that reads slowly; nothing piles up beyond. */
const MAX_WAITING = 1_000;

/** What goes out on a stream without an end. */
export interface SendQueue {
  /** Sends an event. While the client is slow, of several under one key the newest alone waits. */
  send(key: string, event: string): void;
}

/** A queue with back-pressure: notifications say that something is to be looked at again, so one of a kind is enough. */
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
