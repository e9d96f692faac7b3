import type { Cancellation, CancellationFeed } from "../../../runtime/sessions/active-requests.ts";
import { notify, type Orm, withEntities } from "../../orm.ts";
import { createNotificationFeed, type EventListener } from "../connections/connection-event.ts";

/** The channel on which a replica asks the others to cancel a request. */
const CANCELLATION_CHANNEL = "patchbay_cancellation";

/** Cancellations over PostgreSQL notifications. If one is lost, the upstream completes a call that nobody awaits. */
export async function createCancellationFeed(orm: Orm, listener: EventListener): Promise<CancellationFeed> {
  const { onChange } = await createNotificationFeed(listener, CANCELLATION_CHANNEL, parse);
  return {
    announce: (cancellation) =>
      withEntities(orm, (em) => notify(em, CANCELLATION_CHANNEL, JSON.stringify(cancellation))),
    onCanceled: onChange,
  };
}

function parse(payload: string): Cancellation | undefined {
  const value: unknown = JSON.parse(payload);
  if (typeof value !== "object" || value === null || !("session" in value)) return undefined;
  const { session } = value;
  const request = "request" in value ? value.request : undefined;
  const isRequest = typeof request === "string" || request === undefined;
  return typeof session === "string" && isRequest ? { session, request } : undefined;
}
