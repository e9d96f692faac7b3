import { DomainError } from "../../domain-error.ts";
import { errorResult, type CallResult } from "../../integrations/tool.ts";
import { isBare, type NameMemory } from "./session-tools.ts";
import { fitToolName, looksQualified, MAX_TOOL_NAME_LENGTH, printable, splitQualifiedName } from "./tool-name.ts";
import type { OfferedTool, ToolView } from "./tools-in-view.ts";

/** How many other names an answer offers. */
const MAX_CANDIDATES = 20;

/** What a name means within a session. */
export type Resolution =
  | { readonly kind: "tool"; readonly offer: OfferedTool; readonly bare: boolean }
  /** Several connections offer the name, or it may only be called in its qualified form. */
  | { readonly kind: "ambiguous"; readonly candidates: readonly OfferedTool[] }
  /** The connection that the name meant no longer offers it; these others do. */
  | { readonly kind: "moved"; readonly candidates: readonly OfferedTool[] }
  | { readonly kind: "unknown" };

/** Finds the tool that a session means by a name. The qualified form always works, cut or in full. */
export function resolveTool(memory: NameMemory, view: ToolView, name: string): Resolution {
  const offers = view.byBareName.get(name);
  const [only] = offers ?? [];
  if (offers === undefined || only === undefined || looksQualified(name)) {
    return resolveQualified(memory, view, name, offers);
  }
  if (offers.length > 1) return { kind: "ambiguous", candidates: offers };
  return isBare(memory, view, only) ? { kind: "tool", offer: only, bare: true } : { kind: "moved", candidates: offers };
}

function resolveQualified(
  memory: NameMemory,
  view: ToolView,
  name: string,
  bareOffers: readonly OfferedTool[] | undefined,
): Resolution {
  const cut = view.byCutName.get(name);
  if (cut !== undefined) return { kind: "tool", offer: cut, bare: false };
  const parts = splitQualifiedName(name);
  const own = parts && view.byConnection.get(parts.connectionId);
  const offer = parts && (own?.get(parts.name) ?? own?.get(fitToolName(parts.name)));
  if (offer !== undefined) return { kind: "tool", offer, bare: false };
  if (bareOffers !== undefined) return { kind: "ambiguous", candidates: bareOffers };
  // A name that only its upstream knows in full means the cut one.
  if (name.length > MAX_TOOL_NAME_LENGTH) return resolveTool(memory, view, fitToolName(name));
  return { kind: "unknown" };
}

/** The answer to a bare call that could mean several tools: which names to call instead. */
export function ambiguousResult(name: string, candidates: readonly OfferedTool[]): CallResult {
  return errorResult(
    `The tool name "${printable(name)}" does not say which connection is meant. ` +
      `Call one of these instead: ${nameCandidates(candidates)}.`,
  );
}

/** A name that means nothing here. */
export class UnknownTool extends DomainError {
  constructor(message: string) {
    super("not_found", message);
  }
}

/** The refusal of a name that means nothing here; says what may have been meant, nothing of what the caller cannot see. */
export function unknownTool(name: string, candidates: readonly OfferedTool[] = []): UnknownTool {
  const advice =
    candidates.length === 0
      ? "List the tools of this session to see which can be called."
      : `The connection it meant in this session no longer offers it. Others do, under these names: ${nameCandidates(candidates)}.`;
  return new UnknownTool(`Unknown tool "${printable(name)}". ${advice}`);
}

function nameCandidates(candidates: readonly OfferedTool[]): string {
  const names = candidates
    .slice(0, MAX_CANDIDATES)
    .map(({ qualifiedName, connection }) => `${qualifiedName} (connection "${connection.name}")`);
  const rest = candidates.length - names.length;
  return rest > 0 ? `${names.join(", ")} and ${rest} more` : names.join(", ");
}
