import type pg from "pg";
import { runStatement } from "../run-statement.ts";

const FIND = {
  name: "openapi_source_connections",
  text: `select account_id, id from connection where server_type = 'openapi' and configuration->>'spec_url' = $1
    and accept_tool_changes = 'manual' and tool_pins is not null order by account_id, id`,
};

/** Who holds definitions of the document at an address: of all accounts, for the one who has just fetched it anew. */
export async function connectionsPinnedTo(
  pool: pg.Pool,
  url: string,
): Promise<readonly { readonly accountId: string; readonly id: number }[]> {
  const { rows } = await runStatement<{ account_id: string; id: number }>(pool, { ...FIND, values: [url] });
  return rows.map(({ account_id: accountId, id }) => ({ accountId, id }));
}
