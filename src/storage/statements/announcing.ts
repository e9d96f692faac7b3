import { sql } from "kysely";
import type { ConnectionEvent } from "../../connections/change-feed.ts";
import { CONNECTION_CHANNEL } from "../stores/connections/connection-event.ts";

/** Announces a change of each row that a statement returns, on commit. */
export function announcing(event: ConnectionEvent["event"]) {
  return sql<null>`pg_notify(${sql.lit(CONNECTION_CHANNEL)},
    json_build_object('accountId', account_id, 'connectionId', id, 'event', ${sql.lit(event)})::text)`.as("announced");
}
