import type { ToolDefinition } from "../../integrations/tool.ts";
import type { Session } from "../sessions/session.ts";
import { looksQualified } from "./tool-name.ts";
import type { OfferedTool, ToolView } from "./tools-in-view.ts";

/** What decides the names of tools beside the view. Without a session nothing is remembered. */
export type NameMemory = Pick<Session, "bareNameOwners">;

/** A tool as it is listed. */
export interface ListedTool {
  /** The name to call it by. */
  readonly name: string;
  readonly definition: ToolDefinition;
}

/** A tool of a connection under the name that a session knows it by. */
export interface ListedOffer extends ListedTool {
  readonly offer: OfferedTool;
}

/** All tools in view of a session. */
export interface ToolListing {
  /** By name, ascending by UTF-16 units. The same array for all sessions that never saw a name elsewhere. */
  readonly tools: readonly ListedOffer[];
  /** Bare names among them that the session does not remember yet: connection ids by tool id. */
  readonly unclaimed: ReadonlyMap<number, number>;
}

/** Listings of sessions, cached. */
export interface SessionTools {
  /** The same object until the view or what the session remembers changes. */
  listing(memory: NameMemory, view: ToolView): ToolListing;
}

/**
 * Whether an offer goes by its bare name: no other connection in view offers the name, no other has owned it within the
 * session, and it cannot be taken for a qualified name.
 */
export function isBare(memory: NameMemory, view: ToolView, offer: OfferedTool): boolean {
  const owner = memory.bareNameOwners.get(offer.tool.id);
  if (owner !== undefined && owner !== offer.connection.id) return false;
  return view.byBareName.get(offer.bareName)?.length === 1 && !looksQualified(offer.bareName);
}

/** The memory of a protocol without sessions. */
export const NO_MEMORY: NameMemory = { bareNameOwners: new Map() };

/** Listings per session and view. */
export function createSessionTools(): SessionTools {
  const bySession = new WeakMap<NameMemory, { readonly view: ToolView; readonly listing: ToolListing }>();
  const withoutMemory = new WeakMap<ToolView, readonly ListedOffer[]>();

  function compute(memory: NameMemory, view: ToolView): ToolListing {
    let tools = withoutMemory.get(view);
    if (tools === undefined) {
      tools = listTools(NO_MEMORY, view);
      withoutMemory.set(view, tools);
    }
    const unclaimed = new Map<number, number>();
    let isMoved = false;
    for (const { name, offer } of tools) {
      if (name !== offer.bareName) continue;
      const owner = memory.bareNameOwners.get(offer.tool.id);
      if (owner === undefined) unclaimed.set(offer.tool.id, offer.connection.id);
      else if (owner !== offer.connection.id) isMoved = true;
    }
    return { tools: isMoved ? listTools(memory, view) : tools, unclaimed };
  }

  return {
    listing(memory, view) {
      const known = bySession.get(memory);
      if (known?.view === view) return known.listing;
      const listing = compute(memory, view);
      bySession.set(memory, { view, listing });
      return listing;
    },
  };
}

function listTools(memory: NameMemory, view: ToolView): readonly ListedOffer[] {
  return [...view.byBareName.values()]
    .flat()
    .map((offer) => ({
      name: isBare(memory, view, offer) ? offer.bareName : offer.qualifiedName,
      definition: offer.tool.definition,
      offer,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
