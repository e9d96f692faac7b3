import type { ToolListStore } from "../../../connections/tools/tool-list-store.ts";
import type { Database } from "../../database.ts";
import { findToolList, saveToolList } from "../../statements/tool-list.ts";

/** Tool lists in PostgreSQL, one row per connection. */
export function createToolListStore(pool: Database["pool"]): ToolListStore {
  return {
    find: async (accountId, connectionId) => (await findToolList(pool, { accountId, connectionId })).rows[0],
    async save(accountId, connectionId, { tools, ...list }) {
      await saveToolList(pool, { ...list, accountId, connectionId, tools: JSON.stringify(tools) });
    },
  };
}
