import type pg from "pg";
import type { ListingFeed } from "../../../runtime/upstream/upstream-listings.ts";
import type { EventListener } from "../connections/connection-event.ts";

const CHANNEL = "patchbay_offer";

/** Changes of what upstreams offer, over PostgreSQL's notifications. One that is missed is found when the offer grows old. */
export async function createListingFeed(pool: pg.Pool, listener: Pick<EventListener, "listen">): Promise<ListingFeed> {
  const callbacks = new Set<(connectionId: number) => void>();
  await listener.listen(CHANNEL, (payload) => {
    const connectionId = Number(payload);
    if (Number.isSafeInteger(connectionId)) for (const callback of callbacks) callback(connectionId);
  });
  return {
    async announce(connectionId) {
      await pool.query({
        name: "offer_announce",
        text: "select pg_notify($1, $2)",
        values: [CHANNEL, String(connectionId)],
      });
    },
    onChanged(callback) {
      callbacks.add(callback);
    },
  };
}
