import { randomBytes } from "node:crypto";
import type { WarnLog } from "../../log.ts";
import type { RelayFeed, RelayMessageName, RelayStore } from "./relay-store.ts";

/** How long a sender waits for its receiver, in milliseconds. A running replica takes a message within milliseconds. */
const TAKEN_WITHIN_MS = 3_000;

/** Messages to one receiver, which may be on another replica. */
export interface RelayMessages {
  /**
   * Receives the messages to an address until the returned function is called. At most one receiver uses an address.
   * `onMessage` must not throw.
   */
  receive(accountId: string, address: string, onMessage: (text: string) => void): () => void;
  /** Sends a message. Returns false if nobody receives at the address; then the message is gone. */
  send(accountId: string, address: string, text: string): Promise<boolean>;
}

export interface RelayMessagesDeps {
  readonly store: RelayStore;
  readonly feed: RelayFeed;
  readonly log: WarnLog;
  readonly takenWithinMs?: number;
}

/** Returns 128 random bits as base64url. */
export function createRelayAddress(): string {
  return randomBytes(16).toString("base64url");
}

interface Receiver {
  readonly accountId: string;
  readonly onMessage: (text: string) => void;
}

/** A receiver on the same replica gets the message without a query. */
export function createRelayMessages(deps: RelayMessagesDeps): RelayMessages {
  const { store, feed, log, takenWithinMs = TAKEN_WITHIN_MS } = deps;
  const receivers = new Map<string, Receiver>();
  /** Senders by message id, called when the message is taken. */
  const senders = new Map<string, () => void>();

  async function take(receiver: Receiver, name: RelayMessageName): Promise<void> {
    const text = await store.take(receiver.accountId, name);
    // The sender has learned that the message was taken, even if the receiver has stopped and ignores it.
    if (text !== undefined) receiver.onMessage(text);
  }

  async function catchUp(receiver: Receiver, address: string): Promise<void> {
    for (const name of await store.waiting(receiver.accountId, address)) await take(receiver, name);
  }

  const warn = (error: unknown): void => log.warn({ err: error }, "could not take a message of another replica");

  feed.onChange(({ kind, name }) => {
    if (kind === "taken") {
      senders.get(name.id)?.();
      return;
    }
    const receiver = receivers.get(name.address);
    if (receiver !== undefined) take(receiver, name).catch(warn);
  });
  feed.onGap(() => {
    for (const [address, receiver] of receivers) catchUp(receiver, address).catch(warn);
  });

  return {
    receive(accountId, address, onMessage) {
      const receiver = { accountId, onMessage };
      receivers.set(address, receiver);
      return () => {
        if (receivers.get(address) === receiver) receivers.delete(address);
      };
    },

    async send(accountId, address, text) {
      const here = receivers.get(address);
      if (here !== undefined) {
        if (here.accountId !== accountId) return false;
        here.onMessage(text);
        return true;
      }
      const name = { address, id: createRelayAddress() };
      const { promise: settled, resolve: settle } = Promise.withResolvers<boolean>();
      senders.set(name.id, () => settle(true));
      const timer = setTimeout(() => settle(false), takenWithinMs);
      try {
        await store.put(accountId, name, text);
        // An announcement can be lost, so only the row decides.
        return (await settled) || !(await store.withdraw(accountId, name));
      } finally {
        clearTimeout(timer);
        senders.delete(name.id);
      }
    },
  };
}
