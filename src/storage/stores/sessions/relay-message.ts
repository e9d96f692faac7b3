import type pg from "pg";
import type { RelayEvent, RelayFeed, RelayMessageName, RelayStore } from "../../../runtime/relay/relay-store.ts";
import type { SealedPlace, Sealer } from "../../sealing.ts";
import { createNotificationFeed, type EventListener } from "../connections/connection-event.ts";
import { runStatement } from "../run-statement.ts";

const CHANNEL = "patchbay_relay";

/** Seconds that an unclaimed message is kept: longer than any sender waits. */
const LIFETIME_SECONDS = 60;

const PUT = {
  name: "relay_message_put",
  text: `with stored as (
      insert into relay_message (account_id, address, id, sealed_text, expires_at)
      values ($1, $2, $3, $4, now() + make_interval(secs => ${LIFETIME_SECONDS})) returning address, id
    )
    select pg_notify('${CHANNEL}', address || '.' || id) from stored`,
};

const TAKE = {
  name: "relay_message_take",
  text: `with taken as (
      delete from relay_message where account_id = $1 and address = $2 and id = $3 and expires_at > now()
      returning address, id, sealed_text
    )
    select sealed_text, pg_notify('${CHANNEL}', address || '.' || id || '.taken') from taken`,
};

const WITHDRAW = {
  name: "relay_message_withdraw",
  text: "delete from relay_message where account_id = $1 and address = $2 and id = $3",
};

const WAITING = {
  name: "relay_message_waiting",
  text: `select address, id from relay_message where account_id = $1 and address = $2 and expires_at > now()
    order by expires_at limit 1000`,
};

/** Where the text of a message is sealed to. */
export function relayMessagePlace(accountId: string, address: string, id: string): SealedPlace {
  return { table: "relay_message", column: "sealed_text", accountId, rowId: `${address}.${id}` };
}

/** Messages between replicas in PostgreSQL; notifications carry their names alone. */
export function createRelayStore(pool: pg.Pool, sealer: Sealer): RelayStore {
  return {
    async put(accountId, { address, id }, text) {
      const sealed = sealer.seal(text, relayMessagePlace(accountId, address, id));
      await runStatement(pool, { ...PUT, values: [accountId, address, id, sealed] });
    },
    async take(accountId, { address, id }) {
      const values = [accountId, address, id];
      const { rows } = await runStatement<{ sealed_text: Buffer }>(pool, { ...TAKE, values });
      return rows[0] && sealer.open(rows[0].sealed_text, relayMessagePlace(accountId, address, id));
    },
    async withdraw(accountId, { address, id }) {
      const { rowCount } = await runStatement(pool, { ...WITHDRAW, values: [accountId, address, id] });
      return rowCount === 1;
    },
    async waiting(accountId, address) {
      const { rows } = await runStatement<RelayMessageName>(pool, { ...WAITING, values: [accountId, address] });
      return rows;
    },
  };
}

/** Announcements over PostgreSQL's notifications. */
export function createRelayFeed(listener: EventListener): Promise<RelayFeed> {
  return createNotificationFeed(listener, CHANNEL, (payload): RelayEvent | undefined => {
    const [address = "", id = "", taken] = payload.split(".");
    return id === "" ? undefined : { kind: taken === undefined ? "stored" : "taken", name: { address, id } };
  });
}
