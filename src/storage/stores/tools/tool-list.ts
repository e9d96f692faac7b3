import type pg from "pg";
import type { StoredToolList, ToolListStore } from "../../../connections/tools/tool-list-store.ts";
import type { ToolDefinition } from "../../../integrations/tool.ts";
import { announce } from "../connections/connection-event.ts";
import { runStatement } from "../run-statement.ts";

interface ToolListRow {
  key_version: number;
  tools: ToolDefinition[];
  digest: string;
  fetched_at: Date;
}

const FIND = {
  name: "tool_list_find",
  text: "select key_version, tools, digest, fetched_at from tool_list where account_id = $1 and connection_id = $2",
};

/** A list counts only for the key it was fetched with; replicas are told only when it differs from the one before. */
const SAVE = {
  name: "tool_list_save",
  text: `with before as (
      select digest from tool_list where account_id = $1 and connection_id = $2),
    saved as (
      insert into tool_list as list (account_id, connection_id, key_version, tools, digest, fetched_at)
      select account_id, id, key_version, $4, $5, $6 from connection
        where account_id = $1 and id = $2 and key_version = $3 for share
      on conflict (account_id, connection_id) do update set key_version = excluded.key_version, digest = excluded.digest,
        fetched_at = excluded.fetched_at,
        tools = case when list.digest = excluded.digest then list.tools else excluded.tools end
      returning account_id, connection_id as id)
    select ${announce("tools")} from saved where $5 is distinct from (select digest from before)`,
};

/** Tool lists in PostgreSQL, one row a connection. */
export function createToolListStore(pool: pg.Pool): ToolListStore {
  return {
    async find(accountId, connectionId): Promise<StoredToolList | undefined> {
      const row = (await runStatement<ToolListRow>(pool, { ...FIND, values: [accountId, connectionId] })).rows[0];
      if (row === undefined) return undefined;
      return { keyVersion: row.key_version, tools: row.tools, digest: row.digest, fetchedAt: row.fetched_at };
    },
    async save(accountId, connectionId, list) {
      const values = [
        accountId,
        connectionId,
        list.keyVersion,
        JSON.stringify(list.tools),
        list.digest,
        list.fetchedAt,
      ];
      await runStatement(pool, { ...SAVE, values });
    },
  };
}
