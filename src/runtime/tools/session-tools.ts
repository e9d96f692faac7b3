import type { ToolDefinition } from "../../integrations/tool.ts";
import type { McpSession } from "../sessions/session.ts";
import { idToolName, looksQualified, splitAliasName } from "./tool-name.ts";
import type { CallableTool, ToolView } from "./tools-in-view.ts";

/** The part of a session that tool names depend on. */
export type NameOwners = Pick<McpSession, "bareNameOwners" | "aliasOwners">;

export interface ListedTool {
  readonly name: string;
  readonly definition: ToolDefinition;
  /** The name of the connection, if the name of the tool is qualified. Descriptions begin with it. */
  readonly account?: string;
  /** Undefined for the service's own tools. */
  readonly callable?: CallableTool;
}

/** A listed tool with the connection that it belongs to. */
export interface ListedCallable extends ListedTool {
  readonly callable: CallableTool;
}

export interface ToolListing {
  /** Sorted by name. Sessions share one array until a name changes its connection within a session. */
  readonly tools: readonly ListedCallable[];
  /** Connection ids by tool id, for listed bare names that the session has not stored yet. */
  readonly unclaimed: ReadonlyMap<number, number>;
  /** Connection ids by alias, for listed aliases that the session has not stored yet. */
  readonly unclaimedAliases: ReadonlyMap<string, number>;
}

/** The description of a listed tool, which says which account a qualified name stands for. */
export function describeListed({ definition, account }: ListedTool): string {
  const { description } = definition;
  if (account === undefined) return description;
  return description === "" ? `[${account}]` : `[${account}] ${description}`;
}

export interface SessionTools {
  /** Returns the same object until the view or the session changes. */
  listing(memory: NameOwners, view: ToolView): ToolListing;
}

/**
 * Whether a tool is listed under its bare name. This requires that no other connection in view has a tool of that name,
 * that the session never used the name for another connection, and that the name does not look qualified.
 */
export function isBare(memory: NameOwners, view: ToolView, callable: CallableTool): boolean {
  const owner = memory.bareNameOwners.get(callable.tool.id);
  if (owner !== undefined && owner !== callable.connection.id) return false;
  return view.byBareName.get(callable.bareName)?.length === 1 && !needsQualification(view, callable.bareName);
}

/** Whether a name could also be a qualified name of another connection's tool, and so is never listed bare. */
export function needsQualification(view: ToolView, name: string): boolean {
  return looksQualified(name) || (!view.isBound && splitAliasName(name) !== undefined);
}

/** The name under which the tool is listed. Within a session an alias stays with the connection that had it first. */
export function nameInSession(memory: NameOwners, view: ToolView, callable: CallableTool): string {
  if (isBare(memory, view, callable)) return callable.bareName;
  const { connection, tool, aliasName } = callable;
  const owner = memory.aliasOwners.get(connection.alias);
  return owner === undefined || owner === connection.id ? aliasName : idToolName(tool.definition.name, connection.id);
}

/** Used by protocols without sessions. */
export const NO_NAME_OWNERS: NameOwners = { bareNameOwners: new Map(), aliasOwners: new Map() };

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
    const unclaimedAliases = new Map<string, number>();
    let isMoved = false;
    for (const { name, callable } of tools) {
      if (name !== callable.bareName) {
        const { alias, id } = callable.connection;
        const aliasOwner = memory.aliasOwners.get(alias);
        if (aliasOwner === undefined) unclaimedAliases.set(alias, id);
        else if (aliasOwner !== id) isMoved = true;
        continue;
      }
      const owner = memory.bareNameOwners.get(callable.tool.id);
      if (owner === undefined) unclaimed.set(callable.tool.id, callable.connection.id);
      else if (owner !== callable.connection.id) isMoved = true;
    }
    return { tools: isMoved ? listTools(memory, view) : tools, unclaimed, unclaimedAliases };
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
    .map((callable) => {
      const name = nameInSession(memory, view, callable);
      const account = name === callable.bareName ? undefined : callable.connection.name;
      return { name, definition: callable.tool.definition, callable, ...(account !== undefined && { account }) };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
