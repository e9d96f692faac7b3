import type { EntityManager } from "@mikro-orm/postgresql";
import type { ChangeFeed, ConnectionEvent } from "../../../connections/change-feed.ts";
import { notify } from "../../orm.ts";

/** The channel that announces every change of a connection, on commit. */
export const CONNECTION_CHANNEL = "patchbay_connection";

/** Announces a change on commit. */
export async function announceEvent(em: EntityManager, event: ConnectionEvent): Promise<void> {
  await notify(em, CONNECTION_CHANNEL, JSON.stringify(event));
}

/** The part of a database listener that the feed uses. */
export interface EventListener {
  listen(channel: string, onPayload: (payload: string) => void): Promise<void> | void;
  onReconnect(callback: () => void): void;
  isHealthy(): boolean;
}

/** The common interface of all feeds over PostgreSQL notifications. */
export interface NotificationFeed<Event> {
  onChange(callback: (event: Event) => void): () => void;
  onGap(callback: () => void): () => void;
  isHealthy(): boolean;
}

/**
 * A feed over PostgreSQL notifications on a channel. A reconnect counts as a gap. Ignores payloads that `parse`
 * rejects.
 */
export async function createNotificationFeed<Event>(
  listener: EventListener,
  channel: string,
  parse: (payload: string) => Event | undefined,
): Promise<NotificationFeed<Event>> {
  const changes = new Set<(event: Event) => void>();
  const gaps = new Set<() => void>();
  await listener.listen(channel, (payload) => {
    const event = parse(payload);
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

/** The feed of changed connections. */
export function createChangeFeed(listener: EventListener): Promise<ChangeFeed> {
  return createNotificationFeed(listener, CONNECTION_CHANNEL, parseEvent);
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
