import type pg from "pg";
import type { OwnConnections } from "../../../identity/oauth/own-connections.ts";
import { runStatement } from "../run-statement.ts";

interface Row {
  id: number;
  name: string;
  server_type: string;
}

/** The connections of an account by name, without anything else of them. */
export function createOwnConnections(pool: pg.Pool): OwnConnections {
  return {
    async list(accountId) {
      const text = "select id, name, server_type from connection where account_id = $1 order by id";
      const { rows } = await runStatement<Row>(pool, { name: "connection_names", text, values: [accountId] });
      return rows.map(({ id, name, server_type: serverType }) => ({ id, name, serverType }));
    },
  };
}
