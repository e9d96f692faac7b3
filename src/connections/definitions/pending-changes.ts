import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { ToolDefinition } from "../../integrations/tool.ts";
import type { ConnectionTool } from "../connection-tools.ts";

/** The parts of a definition that an upstream can change, as the contract calls them. */
export const DEFINITION_PARTS = [
  "description",
  "input_schema",
  "output_schema",
  "read_only",
  "hints",
  "annotations",
  "request",
  "listing",
] as const;

/** One of them. */
export type DefinitionPart = (typeof DEFINITION_PARTS)[number];

/** A tool that the upstream would have otherwise; its owner has not accepted that. */
export interface PendingToolChange {
  /** The interned name. */
  readonly id: number;
  readonly name: string;
  /** What differs; `request` or `listing` where nothing does that we show. */
  readonly changed: readonly DefinitionPart[];
  /** Stands for the definition that is offered. */
  readonly digest: string;
  readonly current: ToolDefinition;
  readonly proposed: ToolDefinition;
}

/** The changes that wait for the owner's word, by the tools' names. */
export function pendingChangesOf(tools: readonly ConnectionTool[]): readonly PendingToolChange[] {
  return tools.flatMap(({ id, definition, proposed }) =>
    proposed?.digest === undefined
      ? []
      : [
          {
            id,
            name: proposed.name,
            changed: changedParts(definition, proposed),
            digest: proposed.digest,
            current: definition,
            proposed,
          },
        ],
  );
}

/** Stands for all changes together: who names it has seen them all, and no other. */
export function digestOfChanges(changes: readonly PendingToolChange[]): string {
  const hash = createHash("sha256");
  for (const { name, digest } of changes) hash.update(`${JSON.stringify(name)} ${digest}\n`);
  return hash.digest("base64url");
}

function changedParts(before: ToolDefinition, after: ToolDefinition): readonly DefinitionPart[] {
  const parts: Readonly<Record<DefinitionPart, boolean>> = {
    description: before.description !== after.description,
    input_schema: !isDeepStrictEqual(before.inputSchema, after.inputSchema),
    output_schema: !isDeepStrictEqual(before.outputSchema, after.outputSchema),
    read_only: before.readOnly !== after.readOnly,
    hints: !isDeepStrictEqual(before.hints, after.hints),
    annotations: !isDeepStrictEqual(before.annotations, after.annotations),
    request: before.request !== after.request,
    listing: !isDeepStrictEqual(before.listed, after.listed),
  };
  const changed = DEFINITION_PARTS.filter((part) => parts[part]);
  if (changed.length > 0) return changed;
  return [after.request === undefined ? "listing" : "request"];
}
