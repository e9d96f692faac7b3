import { DomainError } from "../../domain-error.ts";
import { errorResult, type CallResult } from "../../integrations/tool.ts";
import { isBare, nameInSession, type NameOwners, needsQualification } from "./session-tools.ts";
import {
  fitToolName,
  listedToolName,
  looksQualified,
  printable,
  splitAliasName,
  splitQualifiedName,
} from "./tool-name.ts";
import type { CallableTool, ToolView } from "./tools-in-view.ts";

/** Number of alternatives that an error lists. */
const MAX_CANDIDATES = 20;

/** A tool with the name to call it by. */
export interface NamedTool {
  readonly name: string;
  readonly callable: CallableTool;
}

export type Resolution =
  | { readonly kind: "tool"; readonly callable: CallableTool; readonly by: "bare name" | "alias" | "id" }
  /** Several connections have the tool, or the name requires its qualified form. */
  | { readonly kind: "ambiguous"; readonly candidates: readonly NamedTool[] }
  /** The connection that the session uses for this name no longer has the tool, but other connections do. */
  | { readonly kind: "moved"; readonly candidates: readonly NamedTool[] }
  | { readonly kind: "unknown" };

/**
 * Finds the tool for a name. The forms with the alias or the id of the connection always resolve, shortened or in full,
 * unless the session has seen the alias at another connection.
 */
export function resolveTool(memory: NameOwners, view: ToolView, name: string): Resolution {
  const callables = view.byBareName.get(name) ?? view.byBareName.get(listedToolName(name)) ?? [];
  const [only] = callables;
  if (only === undefined || needsQualification(view, name)) return resolveQualified(memory, view, name, callables);
  if (isBare(memory, view, only)) return { kind: "tool", callable: only, by: "bare name" };
  return { kind: callables.length > 1 ? "ambiguous" : "moved", candidates: withNames(memory, view, callables) };
}

function withNames(memory: NameOwners, view: ToolView, callables: readonly CallableTool[]): readonly NamedTool[] {
  return callables.map((callable) => ({ name: nameInSession(memory, view, callable), callable }));
}

function resolveQualified(
  memory: NameOwners,
  view: ToolView,
  name: string,
  bareCallables: readonly CallableTool[],
): Resolution {
  const byId = view.byTruncatedName.get(name) ?? resolveById(view, name);
  if (byId !== undefined) return { kind: "tool", callable: byId, by: "id" };
  const parts = looksQualified(name) ? undefined : splitAliasName(name);
  const connectionId = parts && view.byAlias.get(parts.alias);
  const callable = connectionId === undefined ? undefined : view.byConnection.get(connectionId)?.get(parts?.name ?? "");
  if (parts !== undefined && callable !== undefined) {
    const owner = memory.aliasOwners.get(parts.alias);
    if (owner === undefined || owner === connectionId) return { kind: "tool", callable, by: "alias" };
    return { kind: "moved", candidates: withNames(memory, view, [callable]) };
  }
  if (bareCallables.length === 0) return { kind: "unknown" };
  return { kind: "ambiguous", candidates: withNames(memory, view, bareCallables) };
}

function resolveById(view: ToolView, name: string): CallableTool | undefined {
  const parts = splitQualifiedName(name);
  const own = parts && view.byConnection.get(parts.connectionId);
  return parts && (own?.get(parts.name) ?? own?.get(fitToolName(parts.name)));
}

/** The result of a call whose name matches tools of several connections: it lists their qualified names. */
export function ambiguousResult(name: string, candidates: readonly NamedTool[]): CallResult {
  return errorResult(
    `The tool name "${printable(name)}" does not say which connection is meant. ` +
      `Call one of these instead: ${nameCandidates(candidates)}.`,
  );
}

export class UnknownTool extends DomainError {
  constructor(message: string) {
    super("not_found", message);
  }
}

/** The error never mentions tools that the caller cannot see. */
export function unknownTool(name: string, candidates: readonly NamedTool[] = []): UnknownTool {
  const advice =
    candidates.length === 0
      ? "List the tools of this session to see which can be called."
      : `Its connection no longer has it. Other connections do: ${nameCandidates(candidates)}.`;
  return new UnknownTool(`Unknown tool "${printable(name)}". ${advice}`);
}

function nameCandidates(candidates: readonly NamedTool[]): string {
  const names = candidates
    .slice(0, MAX_CANDIDATES)
    .map(({ name, callable }) => `${name} (connection "${callable.connection.name}")`);
  const rest = candidates.length - names.length;
  return rest > 0 ? `${names.join(", ")} and ${rest} more` : names.join(", ");
}
