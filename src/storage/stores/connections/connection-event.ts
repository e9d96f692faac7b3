import type { EntityManager } from "@mikro-orm/postgresql";
import type { ChangeFeed, ConnectionEvent } from "../../../connections/change-feed.ts";
import { notify } from "../../orm.ts";

/** The channel on which every change of a connection is announced inside its transaction. */
export const CONNECTION_CHANNEL = "patchbay_connection";

/** Announces a change when the transaction commits. */
export async function announceEvent(em: EntityManager, event: ConnectionEvent): Promise<void> {
  await notify(em, CONNECTION_CHANNEL, JSON.stringify(event));
}

/** What the feed needs of a database listener. */
export interface EventListener {
  listen(channel: string, onPayload: (payload: string) => void): Promise<void> | void;
  onReconnect(callback: () => void): void;
  isHealthy(): boolean;
}

/** The change feed over PostgreSQL's notifications; a reconnect counts as a gap. */
export async function createChangeFeed(listener: EventListener): Promise<ChangeFeed> {
  const changes = new Set<(event: ConnectionEvent) => void>();
  const gaps = new Set<() => void>();
  await listener.listen(CONNECTION_CHANNEL, (payload) => {
    const event = parseEvent(payload);
    if (event !== undefined) for (const callback of changes) callback(event);
  });
  listener.onReconnect(() => {
    for (const callback of gaps) callback();
  });
  return {
    onChange(callback) {
      changes.add(callback);
      return () => changes.delete(callback);
    },
    onGap(callback) {
      gaps.add(callback);
      return () => gaps.delete(callback);
    },
    isHealthy: () => listener.isHealthy(),
  };
}

const EVENTS = ["created", "updated", "deleted", "tools", "pins"] as const;

function parseEvent(payload: string): ConnectionEvent | undefined {
  const value: unknown = JSON.parse(payload);
  if (typeof value !== "object" || value === null) return undefined;
  if (!("accountId" in value) || !("connectionId" in value) || !("event" in value)) return undefined;
  const { accountId, connectionId } = value;
  const event = EVENTS.find((known) => known === value.event);
  if (typeof accountId !== "string" || typeof connectionId !== "number" || event === undefined) return undefined;
  return { accountId, connectionId, event };
}
