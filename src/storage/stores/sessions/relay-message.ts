import { sql } from "kysely";
import type { RelayEvent, RelayFeed, RelayStore } from "../../../runtime/relay/relay-store.ts";
import { RelayMessageEntity } from "../../entities/sessions/relay-message.ts";
import { now, type Orm, tablesOf, withEntities } from "../../orm.ts";
import type { SealedPlace, Sealer } from "../../sealing.ts";
import { createNotificationFeed, type EventListener } from "../connections/connection-event.ts";

const CHANNEL = "patchbay_relay";

/** Seconds for which a message that nobody took is kept: longer than any sender waits. */
const LIFETIME_SECONDS = 60;

/** Maximum number of messages per read; a reader reads again if there are more. */
const MAX_WAITING = 1_000;

/** Announces, on commit, the message of each row that a statement returns. */
function announced(ending: string) {
  const name = sql`${sql.ref("address")} || '.' || ${sql.ref("id")} || ${sql.lit(ending)}`;
  return sql<null>`pg_notify(${sql.lit(CHANNEL)}, ${name})`.as("announced");
}

/** The location to which encryption binds the text of a message. */
export function relayMessagePlace(accountId: string, address: string, id: string): SealedPlace {
  return { table: "relay_message", column: "sealed_text", accountId, rowId: `${address}.${id}` };
}

/** Messages between replicas in PostgreSQL. Notifications contain only their names. */
export function createRelayStore(orm: Orm, sealer: Sealer): RelayStore {
  return {
    put: (accountId, { address, id }, text) =>
      withEntities(orm, async (em) => {
        const sealed_text = sealer.seal(text, relayMessagePlace(accountId, address, id));
        const expires_at = sql<Date>`now() + make_interval(secs => ${LIFETIME_SECONDS})`;
        const message = { account_id: accountId, address, id, sealed_text, expires_at };
        await tablesOf(em).insertInto("relay_message").values(message).returning(announced("")).execute();
      }),
    take: (accountId, { address, id }) =>
      withEntities(orm, async (em) => {
        const taken = await tablesOf(em)
          .deleteFrom("relay_message")
          .where(({ and }) => and({ account_id: accountId, address, id }))
          .where("expires_at", ">", sql<Date>`now()`)
          .returning(["sealed_text", announced(".taken")])
          .executeTakeFirst();
        return taken && sealer.open(taken.sealed_text, relayMessagePlace(accountId, address, id));
      }),
    withdraw: async (accountId, { address, id }) =>
      (await withEntities(orm, (em) => em.nativeDelete(RelayMessageEntity, { accountId, address, id }))) === 1,
    async waiting(accountId, address) {
      const isWaiting = { accountId, address, expiresAt: { $gt: now() } };
      const options = { fields: ["id"], orderBy: { expiresAt: "asc" }, limit: MAX_WAITING } as const;
      const rows = await withEntities(orm, (em) => em.find(RelayMessageEntity, isWaiting, options));
      return rows.map(({ id }) => ({ address, id }));
    },
  };
}

/** Announcements over PostgreSQL notifications. */
export function createRelayFeed(listener: EventListener): Promise<RelayFeed> {
  return createNotificationFeed(listener, CHANNEL, (payload): RelayEvent | undefined => {
    const [address = "", id = "", taken] = payload.split(".");
    return id === "" ? undefined : { kind: taken === undefined ? "stored" : "taken", name: { address, id } };
  });
}
