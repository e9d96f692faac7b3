import type { ToolDefinition } from "../../integrations/tool.ts";
import type { Session } from "../sessions/session.ts";
import { looksQualified } from "./tool-name.ts";
import type { CallableTool, ToolView } from "./tools-in-view.ts";

/** What decides the names of tools beside the view. Without a session nothing is remembered. */
export type NameOwners = Pick<Session, "bareNameOwners">;

/** A tool as it is listed. */
export interface ListedTool {
  /** The name to call it by. */
  readonly name: string;
  readonly definition: ToolDefinition;
}

/** A tool of a connection under the name that a session knows it by. */
export interface ListedCallable extends ListedTool {
  readonly callable: CallableTool;
}

/** All tools in view of a session. */
export interface ToolListing {
  /** By name, ascending by UTF-16 units. The same array for all sessions that never saw a name elsewhere. */
  readonly tools: readonly ListedCallable[];
  /** Bare names among them that the session does not remember yet: connection ids by tool id. */
  readonly unclaimed: ReadonlyMap<number, number>;
}

/** Listings of sessions, cached. */
export interface SessionTools {
  /** The same object until the view or what the session remembers changes. */
  listing(memory: NameOwners, view: ToolView): ToolListing;
}

/**
 * Whether an offer goes by its bare name: no other connection in view offers the name, no other has owned it within the
 * session, and it cannot be taken for a qualified name.
 */
export function isBare(memory: NameOwners, view: ToolView, callable: CallableTool): boolean {
  const owner = memory.bareNameOwners.get(callable.tool.id);
  if (owner !== undefined && owner !== callable.connection.id) return false;
  return view.byBareName.get(callable.bareName)?.length === 1 && !looksQualified(callable.bareName);
}

/** The memory of a protocol without sessions. */
export const NO_NAME_OWNERS: NameOwners = { bareNameOwners: new Map() };

/** Listings per session and view. */
export function createSessionTools(): SessionTools {
  const bySession = new WeakMap<NameOwners, { readonly view: ToolView; readonly listing: ToolListing }>();
  const withoutMemory = new WeakMap<ToolView, readonly ListedCallable[]>();

  function compute(memory: NameOwners, view: ToolView): ToolListing {
    let tools = withoutMemory.get(view);
    if (tools === undefined) {
      tools = listTools(NO_NAME_OWNERS, view);
      withoutMemory.set(view, tools);
    }
    const unclaimed = new Map<number, number>();
    let isMoved = false;
    for (const { name, callable } of tools) {
      if (name !== callable.bareName) continue;
      const owner = memory.bareNameOwners.get(callable.tool.id);
      if (owner === undefined) unclaimed.set(callable.tool.id, callable.connection.id);
      else if (owner !== callable.connection.id) isMoved = true;
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

function listTools(memory: NameOwners, view: ToolView): readonly ListedCallable[] {
  return [...view.byBareName.values()]
    .flat()
    .map((callable) => ({
      name: isBare(memory, view, callable) ? callable.bareName : callable.qualifiedName,
      definition: callable.tool.definition,
      callable,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
