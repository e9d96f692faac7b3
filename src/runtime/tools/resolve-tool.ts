import { DomainError } from "../../domain-error.ts";
import { errorResult, type CallResult } from "../../integrations/tool.ts";
import { isBare, type NameOwners } from "./session-tools.ts";
import { fitToolName, looksQualified, MAX_TOOL_NAME_LENGTH, printable, splitQualifiedName } from "./tool-name.ts";
import type { CallableTool, ToolView } from "./tools-in-view.ts";

/** Number of alternatives that an error lists. */
const MAX_CANDIDATES = 20;

export type Resolution =
  | { readonly kind: "tool"; readonly callable: CallableTool; readonly bare: boolean }
  /** Several connections have the tool, or the name requires its qualified form. */
  | { readonly kind: "ambiguous"; readonly candidates: readonly CallableTool[] }
  /** The connection that the session uses for this name no longer has the tool, but other connections do. */
  | { readonly kind: "moved"; readonly candidates: readonly CallableTool[] }
  | { readonly kind: "unknown" };

/** Finds the tool for a name. The qualified form always resolves, shortened or in full. */
export function resolveTool(memory: NameOwners, view: ToolView, name: string): Resolution {
  const callables = view.byBareName.get(name);
  const [only] = callables ?? [];
  if (callables === undefined || only === undefined || looksQualified(name)) {
    return resolveQualified(memory, view, name, callables);
  }
  if (callables.length > 1) return { kind: "ambiguous", candidates: callables };
  return isBare(memory, view, only)
    ? { kind: "tool", callable: only, bare: true }
    : { kind: "moved", candidates: callables };
}

function resolveQualified(
  memory: NameOwners,
  view: ToolView,
  name: string,
  bareCallables: readonly CallableTool[] | undefined,
): Resolution {
  const cut = view.byTruncatedName.get(name);
  if (cut !== undefined) return { kind: "tool", callable: cut, bare: false };
  const parts = splitQualifiedName(name);
  const own = parts && view.byConnection.get(parts.connectionId);
  const callable = parts && (own?.get(parts.name) ?? own?.get(fitToolName(parts.name)));
  if (callable !== undefined) return { kind: "tool", callable, bare: false };
  if (bareCallables !== undefined) return { kind: "ambiguous", candidates: bareCallables };
  // The caller may use the full name of a tool that is listed under a shortened name.
  if (name.length > MAX_TOOL_NAME_LENGTH) return resolveTool(memory, view, fitToolName(name));
  return { kind: "unknown" };
}

/** The result of a call whose name matches tools of several connections: it lists their qualified names. */
export function ambiguousResult(name: string, candidates: readonly CallableTool[]): CallResult {
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
export function unknownTool(name: string, candidates: readonly CallableTool[] = []): UnknownTool {
  const advice =
    candidates.length === 0
      ? "List the tools of this session to see which can be called."
      : `Its connection no longer has it. Other connections do: ${nameCandidates(candidates)}.`;
  return new UnknownTool(`Unknown tool "${printable(name)}". ${advice}`);
}

function nameCandidates(candidates: readonly CallableTool[]): string {
  const names = candidates
    .slice(0, MAX_CANDIDATES)
    .map(({ qualifiedName, connection }) => `${qualifiedName} (connection "${connection.name}")`);
  const rest = candidates.length - names.length;
  return rest > 0 ? `${names.join(", ")} and ${rest} more` : names.join(", ");
}
