import type pg from "pg";
import type { ToolDefinition } from "../../../integrations/tool.ts";
import { runStatement } from "../run-statement.ts";

/** A definition to keep. */
export interface DefinitionToKeep {
  readonly definition: ToolDefinition;
  /** How it is called, where the name alone does not say. */
  readonly plan?: string;
}

const KEEP = {
  name: "tool_definition_keep",
  // In one order everywhere: two that keep the same the other way round would wait for each other.
  text: `insert into tool_definition (digest, definition, plan)
    select distinct on (digest) digest, definition, plan from unnest($1::text[], $2::text[], $3::text[]) as kept (digest, definition, plan)
    order by digest
    on conflict (digest) do update set used_at = now(), plan = coalesce(tool_definition.plan, excluded.plan)`,
};

/** Keeps definitions by their digests, in the caller's transaction. What is there already stays as it is. */
export async function keepDefinitions(client: pg.PoolClient, kept: readonly DefinitionToKeep[]): Promise<void> {
  const withDigest = kept.filter(({ definition }) => definition.digest !== undefined);
  if (withDigest.length === 0) return;
  const values = [
    withDigest.map(({ definition }) => definition.digest),
    withDigest.map(({ definition }) => JSON.stringify(definition)),
    withDigest.map(({ plan }) => plan ?? null),
  ];
  await runStatement(client, { ...KEEP, values });
}

/** The named place where a definition that we kept becomes one again. */
export function parseDefinition(text: string): ToolDefinition {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may: it reads our own text.
  return JSON.parse(text) as ToolDefinition;
}
