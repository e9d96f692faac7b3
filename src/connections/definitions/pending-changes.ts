import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { ToolDefinition } from "../../integrations/tool.ts";
import type { ConnectionTool } from "../connection-tools.ts";

/** The parts of a definition that can change, as the contract names them. */
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

export type DefinitionPart = (typeof DEFINITION_PARTS)[number];

/** A changed definition that its owner has not accepted. */
export interface PendingToolChange {
  /** The id of the tool's name. */
  readonly id: number;
  readonly name: string;
  /** The parts that differ; `request` or `listing` if no visible part does. */
  readonly changed: readonly DefinitionPart[];
  /** The digest of the proposed definition. */
  readonly digest: string;
  readonly current: ToolDefinition;
  readonly proposed: ToolDefinition;
}

/** Returns changes that wait for approval, by tool name. */
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

/** The digest of all changes, which proves that its sender has seen exactly these. */
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
