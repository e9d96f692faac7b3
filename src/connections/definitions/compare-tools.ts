import type { ToolDefinition } from "../../integrations/tool.ts";
import { isJsonObject } from "../../json.ts";
import { memberOf, withMembers } from "../../json-text.ts";
import type { KnownToolList } from "../known-tool-list.ts";
import type { AcceptedDefinitions } from "./accepted-definitions.ts";

/** An upstream's list compared with the accepted definitions. */
export interface ToolComparison {
  /** The current list: the same object as the upstream's list if nothing differs. */
  readonly current: KnownToolList;
  /** Tools without an accepted definition yet, with the digests to accept. */
  readonly newTools: AcceptedDefinitions;
}

/** The digests of accepted definitions that differ from the list, so they must be loaded to compare. */
export function missingDefinitions(
  { definitions }: KnownToolList,
  acceptedDefinitions: AcceptedDefinitions,
): readonly string[] {
  return definitions.flatMap(({ name, digest }) => {
    const accepted = acceptedDefinitions.get(name);
    return digest === undefined || accepted === undefined || accepted === digest ? [] : [accepted];
  });
}

/**
 * Replaces proposed definitions by the accepted ones. The proposed definition of a new tool is current, and so is that of
 * a tool whose accepted definition is not among the `loaded` ones.
 */
export function compareTools(
  list: KnownToolList,
  acceptedDefinitions: AcceptedDefinitions,
  loaded: ReadonlyMap<string, ToolDefinition>,
): ToolComparison {
  const newTools = new Map<string, string>();
  const pending = new Map<string, ToolDefinition>();
  const definitions = list.definitions.map((proposed) => {
    const { name, digest } = proposed;
    if (digest === undefined) return proposed;
    const accepted = acceptedDefinitions.get(name);
    if (accepted === digest) return proposed;
    const definition = accepted === undefined ? undefined : loaded.get(accepted);
    if (definition === undefined) {
      newTools.set(name, digest);
      return proposed;
    }
    pending.set(name, proposed);
    return withAcceptedDefinition(definition, proposed);
  });
  return { current: pending.size === 0 ? list : { ...list, definitions, pending }, newTools };
}

/**
 * The accepted definition with two values from the proposed one: a tool that now writes loses its read-only mark at once,
 * and whether a key is sent depends on the connection, not on the upstream.
 */
function withAcceptedDefinition(accepted: ToolDefinition, proposed: ToolDefinition): ToolDefinition {
  const annotations = { ...accepted.annotations, requiresAuth: proposed.annotations.requiresAuth };
  if (!accepted.readOnly || proposed.readOnly) return { ...accepted, annotations };
  const { listed, json } = accepted;
  return {
    ...accepted,
    annotations,
    readOnly: false,
    ...(isJsonObject(listed?.annotations)
      ? { listed: { ...listed, annotations: { ...listed.annotations, readOnlyHint: false } } }
      : {}),
    ...(json !== undefined && { json: withoutReadOnlyMark(json) }),
  };
}

function withoutReadOnlyMark(json: string): string {
  const marks = memberOf(json, "annotations");
  if (marks === undefined) return json;
  return withMembers(json, { annotations: withMembers(json.slice(marks.start, marks.end), { readOnlyHint: "false" }) });
}
