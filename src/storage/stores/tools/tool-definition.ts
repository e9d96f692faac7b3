import type { EntityManager } from "@mikro-orm/postgresql";
import { sql } from "kysely";
import type { ToolDefinition } from "../../../integrations/tool.ts";
import { tablesOf } from "../../orm.ts";

/** A definition to store. */
export interface DefinitionToKeep {
  readonly definition: ToolDefinition;
  /** The data for calling the tool, if the name is not sufficient. */
  readonly plan?: string;
}

/** Stores definitions by their digests, in the caller's transaction. Existing rows are unchanged. */
export async function keepDefinitions(em: EntityManager, kept: readonly DefinitionToKeep[]): Promise<void> {
  const byDigest = new Map(
    kept.flatMap(({ definition, plan = null }) =>
      definition.digest === undefined
        ? []
        : [[definition.digest, { digest: definition.digest, definition: JSON.stringify(definition), plan }] as const],
    ),
  );
  // A fixed order, because transactions that insert the same rows in opposite orders would deadlock.
  const rows = [...byDigest.values()].sort((one, other) => (one.digest < other.digest ? -1 : 1));
  for (let start = 0; start < rows.length; start += BATCH)
    await tablesOf(em)
      .insertInto("tool_definition")
      .values(rows.slice(start, start + BATCH))
      .onConflict((conflict) =>
        conflict.column("digest").doUpdateSet({
          used_at: sql`now()`,
          plan: ({ fn, ref }) => fn.coalesce("tool_definition.plan", ref("excluded.plan")),
        }),
      )
      .execute();
}

/** Maximum number of rows per statement; each row uses three parameters. */
const BATCH = 1_000;

/** The only place that converts stored text back to a definition. */
export function parseDefinition(text: string): ToolDefinition {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may: it reads our own text.
  return JSON.parse(text) as ToolDefinition;
}
