import type { ListingFeed } from "../../../runtime/upstream/upstream-listings.ts";
import { notify, type Orm, withEntities } from "../../orm.ts";
import { createNotificationFeed, type EventListener } from "../connections/connection-event.ts";

const CHANNEL = "patchbay_offer";

/**
 * Changes of upstream capabilities, over PostgreSQL notifications. A missed change is found when the cached copy
 * expires.
 */
export async function createListingFeed(orm: Orm, listener: EventListener): Promise<ListingFeed> {
  const { onChange } = await createNotificationFeed(listener, CHANNEL, (payload) => {
    const connectionId = Number(payload);
    return Number.isSafeInteger(connectionId) ? connectionId : undefined;
  });
  return {
    announce: (connectionId) => withEntities(orm, (em) => notify(em, CHANNEL, String(connectionId))),
    onChanged: onChange,
  };
}
