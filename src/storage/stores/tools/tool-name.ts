import { LRUCache } from "lru-cache";
import { atMost } from "../../../at-most.ts";
import type { ToolNames } from "../../../connections/tools/tool-list-store.ts";
import type { Database } from "../../database.ts";
import { addToolNames, findToolNames } from "../../statements/tool-list.ts";

/** Maximum number of names cached in memory; each takes some tens of bytes. */
const MAX_NAMES = 200_000;

/** Interned tool names in PostgreSQL. The id of a name never changes, so the cache never becomes stale. */
export function createToolNames(pool: Database["pool"]): ToolNames {
  const known = new LRUCache<string, number>(atMost(MAX_NAMES));

  async function find(names: readonly string[]): Promise<void> {
    for (const { id, name } of (await findToolNames(pool, { names })).rows) known.set(name, id);
  }

  return {
    async intern(names) {
      const missing = names.filter((name) => !known.has(name));
      if (missing.length > 0) {
        await find(missing);
        const fresh = missing.filter((name) => !known.has(name));
        if (fresh.length > 0) {
          await addToolNames(pool, { names: fresh });
          await find(fresh);
        }
      }
      return names.map((name) => {
        const id = known.get(name);
        if (id === undefined) throw new Error(`tool name ${JSON.stringify(name)} was not interned`);
        return id;
      });
    },
  };
}
