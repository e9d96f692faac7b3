import type { ToolDefinition } from "../../integrations/tool.ts";
import { isJsonObject } from "../../json.ts";
import type { KnownList } from "../known-list.ts";
import type { ToolPins } from "./accepted-definitions.ts";

/** What pins make of a list. */
export interface Judgement {
  /** The list as it is in force: the very one that was offered where nothing differs. */
  readonly inForce: KnownList;
  /** Tools that are not pinned yet, with the digests to pin. */
  readonly newcomers: ToolPins;
}

/** The digests of the definitions that are in force and not the ones offered. */
export function missingDefinitions({ definitions }: KnownList, pins: ToolPins): readonly string[] {
  return definitions.flatMap(({ name, digest }) => {
    const pinned = pins.get(name);
    return digest === undefined || pinned === undefined || pinned === digest ? [] : [pinned];
  });
}

/**
 * Puts the definitions in force in the place of those offered. A tool that was never seen is in force as it is offered,
 * and so is one whose pinned definition `kept` does not have: there is nothing else to go by.
 */
export function judge(list: KnownList, pins: ToolPins, kept: ReadonlyMap<string, ToolDefinition>): Judgement {
  const newcomers = new Map<string, string>();
  const pending = new Map<string, ToolDefinition>();
  const definitions = list.definitions.map((offered) => {
    const { name, digest } = offered;
    if (digest === undefined) return offered;
    const pinned = pins.get(name);
    if (pinned === digest) return offered;
    const definition = pinned === undefined ? undefined : kept.get(pinned);
    if (definition === undefined) {
      newcomers.set(name, digest);
      return offered;
    }
    pending.set(name, offered);
    return heldBack(definition, offered);
  });
  return { inForce: pending.size === 0 ? list : { ...list, definitions, pending }, newcomers };
}

/**
 * The pinned definition, with two things that hold at once: a tool that says that it writes is not read-only any more,
 * whatever was promised before, and whether a key is sent is the connection's matter and not the upstream's.
 */
function heldBack(pinned: ToolDefinition, offered: ToolDefinition): ToolDefinition {
  const annotations = { ...pinned.annotations, requiresAuth: offered.annotations.requiresAuth };
  if (!pinned.readOnly || offered.readOnly) return { ...pinned, annotations };
  const { listed } = pinned;
  return {
    ...pinned,
    annotations,
    readOnly: false,
    ...(isJsonObject(listed?.annotations)
      ? { listed: { ...listed, annotations: { ...listed.annotations, readOnlyHint: false } } }
      : {}),
  };
}
