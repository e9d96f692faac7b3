import type { EntityManager } from "@mikro-orm/postgresql";
import { sql } from "kysely";
import type { ToolDefinition } from "../../../integrations/tool.ts";
import { tablesOf } from "../../orm.ts";

/** A definition to keep. */
export interface DefinitionToKeep {
  readonly definition: ToolDefinition;
  /** How it is called, where the name alone does not say. */
  readonly plan?: string;
}

/** Keeps definitions by their digests, in the caller's transaction. What is there already stays as it is. */
export async function keepDefinitions(em: EntityManager, kept: readonly DefinitionToKeep[]): Promise<void> {
  const byDigest = new Map(
    kept.flatMap(({ definition, plan = null }) =>
      definition.digest === undefined
        ? []
        : [[definition.digest, { digest: definition.digest, definition: JSON.stringify(definition), plan }] as const],
    ),
  );
  // In one order everywhere: two that keep the same the other way round would wait for each other.
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

/** Rows of one statement, which has three parameters for each. */
const BATCH = 1_000;

/** The named place where a definition that we kept becomes one again. */
export function parseDefinition(text: string): ToolDefinition {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may: it reads our own text.
  return JSON.parse(text) as ToolDefinition;
}
