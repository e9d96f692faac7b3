import type pg from "pg";
import { runStatement } from "../run-statement.ts";

/** Longer than anybody remembers to have written a row (`createPinStore`), so that none is dropped while it is about to be held. */
const KEPT = "interval '1 day'";

const PURGE_SETS = {
  name: "tool_pin_set_purge",
  text: `delete from tool_pin_set as kept where used_at < now() - ${KEPT}
    and not exists (select 1 from connection where tool_pins = kept.digest)`,
};
const PURGE_DEFINITIONS = {
  name: "tool_definition_purge",
  text: `delete from tool_definition where used_at < now() - ${KEPT}
    and digest not in (select unnest(definitions) from tool_pin_set)`,
};

/** Deletes definitions and pins that no connection holds any more. Safe on several replicas at once. */
export async function purgePins(pool: pg.Pool): Promise<void> {
  for (const statement of [PURGE_SETS, PURGE_DEFINITIONS]) await runStatement(pool, { ...statement, values: [] });
}
