import { LRUCache } from "lru-cache";
import type pg from "pg";
import { atMost } from "../../../at-most.ts";
import type { ToolNames } from "../../../connections/tools/tool-list-store.ts";
import { runStatement } from "../run-statement.ts";

/** Names kept in memory: some tens of bytes each. */
const MAX_NAMES = 200_000;

const FIND = { name: "tool_name_find", text: "select id, name from tool_name where name = any ($1)" };
const ADD = {
  name: "tool_name_add",
  // In one order everywhere: two that add the same names the other way round would wait for each other.
  text: "insert into tool_name (name) select distinct name from unnest($1::text[]) as name order by name on conflict (name) do nothing",
};

/** Interned tool names in PostgreSQL. A name's id never changes, so memory never goes stale. */
export function createToolNames(pool: pg.Pool): ToolNames {
  const known = new LRUCache<string, number>(atMost(MAX_NAMES));

  async function find(names: readonly string[]): Promise<void> {
    const { rows } = await runStatement<{ id: number; name: string }>(pool, { ...FIND, values: [names] });
    for (const { id, name } of rows) known.set(name, id);
  }

  return {
    async intern(names) {
      const missing = names.filter((name) => !known.has(name));
      if (missing.length > 0) {
        await find(missing);
        const fresh = missing.filter((name) => !known.has(name));
        if (fresh.length > 0) {
          await runStatement(pool, { ...ADD, values: [fresh] });
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
