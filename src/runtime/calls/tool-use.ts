import type { Principal } from "../../identity/principal.ts";
import { invalid } from "../../domain-error.ts";
import type { Relay } from "../../integrations/relay.ts";
import { errorResult, type CallResult } from "../../integrations/tool.ts";
import type { JsonObject } from "../../json.ts";
import type { ToolCaller } from "./call-tool.ts";
import { createToolPages, type SessionToolPage } from "../tools/list-tools.ts";
import { foundResult, type ToolSearchMode } from "../tools/tool-search-mode.ts";
import { FIND_TOOLS, isMetaToolName, META_TOOLS } from "../tools/meta-tools.ts";
import { ambiguousResult, type Resolution, resolveTool, UnknownTool, unknownTool } from "../tools/resolve-tool.ts";
import type { McpSession } from "../sessions/session.ts";
import {
  createSessionTools,
  type ListedTool,
  nameInSession,
  type NameOwners,
  NO_NAME_OWNERS,
} from "../tools/session-tools.ts";
import type { Connection } from "../../connections/connection.ts";
import type { Tasks } from "../tasks/tasks.ts";
import type { UpstreamFeatures } from "../upstream/upstream-features.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { CallableTool, ToolView, ToolViews } from "../tools/tools-in-view.ts";

/**
 * How long a request to list tools waits for the first tools of a connection, in milliseconds. After that, the response
 * omits them.
 */
const LIST_WAIT_MS = 10_000;
/** How long a call waits for the first tools of a connection, in milliseconds. The call may be for another connection. */
const CALL_WAIT_MS = 2_000;

export interface UseOptions {
  /** Aborted when the caller cancels or a limit passes. */
  readonly controller: AbortController;
  /** Called when the call begins to wait for its upstream. */
  readonly onSent?: (() => void) | undefined;
  /** Whether the session ends when the connection of the call is deleted. Otherwise it only loses the connection. */
  readonly endsWithConnection?: boolean;
  readonly relay?: Relay | undefined;
  /** Called when the name is resolved, before any other check. Its error ends the call. */
  readonly inspect?: ((callable: CallableTool) => void) | undefined;
}

/**
 * Lists and calls tools for all protocol handlers. `session` is a session of the principal, or undefined in a protocol
 * without sessions.
 */
export interface ToolUse {
  /** Returns a page of the tools that the principal may use, sorted by name. Throws `invalid` for an unknown cursor. */
  list(principal: Principal, session: McpSession | undefined, cursor: string | undefined): Promise<SessionToolPage>;
  /**
   * Returns all tools that `list` would return, without storing names in the session. Returns the same array until
   * something changes.
   */
  all(principal: Principal, session: McpSession | undefined): readonly ListedTool[] | Promise<readonly ListedTool[]>;
  /** Calls a tool. Failures of the tool or its upstream are results with `isError`; an unknown tool throws `not_found`. */
  call(
    principal: Principal,
    session: McpSession | undefined,
    name: string,
    args: JsonObject,
    options: UseOptions,
  ): Promise<CallResult>;
}

export interface ToolUseDeps {
  readonly sessions: Sessions;
  readonly views: ToolViews;
  readonly caller: ToolCaller;
  readonly toolSearchMode: ToolSearchMode;
  readonly links: Pick<UpstreamFeatures, "withClientLinks">;
  readonly tasks: Pick<Tasks, "create">;
}

/** A repeated call sends no query: session, view and compiled schema are cached. */
export function createToolUse(deps: ToolUseDeps): ToolUse {
  const { sessions, views, caller, toolSearchMode } = deps;
  const sessionTools = createSessionTools();
  const pages = createToolPages();

  /**
   * Stores the name of a call in the session, and its connection if the session ends with it. Returns false when the
   * connection was deleted or another connection has the name.
   */
  async function remember(
    session: McpSession,
    { callable, by }: Extract<Resolution, { kind: "tool" }>,
    endsWithConnection: boolean,
  ): Promise<boolean> {
    const { tool, connection } = callable;
    // A bound session has only one connection and ends with it.
    if (session.connectionId !== undefined) return true;
    const hasName = ({ bareNameOwners, aliasOwners }: NameOwners): boolean =>
      by === "id" ||
      (by === "alias" ? aliasOwners.get(connection.alias) : bareNameOwners.get(tool.id)) === connection.id;
    const isNamed = hasName(session);
    if (isNamed && (!endsWithConnection || session.calledConnectionIds.has(connection.id))) return true;
    const claimed = await sessions.claim(session, {
      bareNameOwners: new Map(isNamed || by === "alias" ? [] : [[tool.id, connection.id]]),
      aliasOwners: new Map(isNamed || by !== "alias" ? [] : [[connection.alias, connection.id]]),
      calledConnectionId: endsWithConnection ? connection.id : undefined,
    });
    // The connection was deleted, or another replica claimed the name for another connection.
    return claimed !== undefined && hasName(claimed);
  }

  /** Returns the visible tools, or `find_tools` and `call_tool` instead of a long list. */
  function listed(
    principal: Principal,
    session: McpSession | undefined,
    view: ToolView,
  ): readonly ListedTool[] | Promise<readonly ListedTool[]> {
    const { tools } = sessionTools.listing(session ?? NO_NAME_OWNERS, view);
    const searched = toolSearchMode.isOnFor(principal, tools);
    if (searched instanceof Promise) return searched.then((are) => (are ? META_TOOLS : tools));
    return searched ? META_TOOLS : tools;
  }

  /** Stores in the session which connection owns each bare name of the found tools. Returns the owners of all names. */
  async function rememberFound(
    session: McpSession | undefined,
    view: ToolView,
    found: readonly CallableTool[],
  ): Promise<NameOwners> {
    if (session === undefined || session.connectionId !== undefined) return session ?? NO_NAME_OWNERS;
    const { unclaimed, unclaimedAliases } = sessionTools.listing(session, view);
    const bare = found.filter(({ tool, connection }) => unclaimed.get(tool.id) === connection.id);
    const aliased = found.filter(({ connection }) => unclaimedAliases.get(connection.alias) === connection.id);
    if (bare.length + aliased.length === 0) return session;
    const bareNameOwners = new Map(bare.map(({ tool, connection }) => [tool.id, connection.id]));
    const aliasOwners = new Map(aliased.map(({ connection }) => [connection.alias, connection.id]));
    return (await sessions.claim(session, { bareNameOwners, aliasOwners, calledConnectionId: undefined })) ?? session;
  }

  async function find(session: McpSession | undefined, view: ToolView, args: JsonObject): Promise<CallResult> {
    const wish = toolSearchMode.readFindTools(args);
    if (wish.kind === "refused") return wish.result;
    const { tools } = sessionTools.listing(session ?? NO_NAME_OWNERS, view);
    const { items, totalCount } = await toolSearchMode.find(tools, wish);
    const callables = items.map(({ callable }) => callable);
    const memory = await rememberFound(session, view, callables);
    const found = callables.map((callable) => {
      const name = nameInSession(memory, view, callable);
      return { callable, name: isMetaToolName(name) ? callable.qualifiedName : name };
    });
    return foundResult(found, totalCount);
  }

  /** Links in the result name the connection, so that the client can read them. */
  function withClientLinks(principal: Principal, connection: Connection, result: CallResult): CallResult {
    if (result.json === undefined) return result;
    const json = deps.links.withClientLinks(principal, connection, result.json);
    return json === result.json ? result : { ...result, json };
  }

  /** Calls the tool that the arguments name. An unknown name is a result that the model can correct. */
  async function callInner(
    principal: Principal,
    session: McpSession | undefined,
    args: JsonObject,
    options: UseOptions,
  ): Promise<CallResult> {
    const inner = toolSearchMode.readCallTool(args);
    if (inner.kind === "refused") return inner.result;
    try {
      // `inspect` applies to the tool that the client named, which is `call_tool`.
      return await use.call(principal, session, inner.name, inner.args, { ...options, inspect: undefined });
    } catch (thrown) {
      if (!(thrown instanceof UnknownTool)) throw thrown;
      return errorResult(`${thrown.message} ${FIND_TOOLS.name} searches the tools by what they do.`);
    }
  }

  const use: ToolUse = {
    async list(principal, session, cursor) {
      const view = await views.of(principal, LIST_WAIT_MS);
      const now = listed(principal, session, view);
      const shown = now instanceof Promise ? await now : now;
      if (session === undefined || shown === META_TOOLS) return pages.page(shown, cursor);
      let listing = sessionTools.listing(session, view);
      const { unclaimed, unclaimedAliases } = listing;
      if (unclaimed.size + unclaimedAliases.size > 0 && session.connectionId === undefined) {
        const claimed = await sessions.claim(session, {
          bareNameOwners: unclaimed,
          aliasOwners: unclaimedAliases,
          calledConnectionId: undefined,
        });
        listing = sessionTools.listing(claimed ?? session, view);
      }
      return pages.page(listing.tools, cursor);
    },

    all(principal, session) {
      const seen = views.of(principal, LIST_WAIT_MS);
      return seen instanceof Promise
        ? seen.then((view) => listed(principal, session, view))
        : listed(principal, session, seen);
    },

    async call(principal, session, name, args, options) {
      const { controller, relay, inspect, onSent, endsWithConnection = false } = options;
      if (name === "") throw invalid("name", "name is required: the name of the tool to call.");
      const seen = views.of(principal, CALL_WAIT_MS);
      const view = seen instanceof Promise ? await seen : seen;

      if (isMetaToolName(name) && (await listed(principal, session, view)) === META_TOOLS) {
        return name === FIND_TOOLS.name ? find(session, view, args) : callInner(principal, session, args, options);
      }

      const resolution = resolveTool(session ?? NO_NAME_OWNERS, view, name);
      if (resolution.kind === "unknown") throw unknownTool(name);
      if (resolution.kind === "moved") throw unknownTool(name, resolution.candidates);
      if (resolution.kind === "ambiguous") return ambiguousResult(name, resolution.candidates);

      const { callable } = resolution;
      const { connection } = callable;
      inspect?.(callable);
      const refused = caller.refusal(callable, args);
      const refusal = refused instanceof Promise ? await refused : refused;
      if (session !== undefined) {
        const isRemembered = await remember(session, resolution, endsWithConnection && refusal === undefined);
        if (!isRemembered) throw unknownTool(name);
      }
      const call = { callable, args, clientId: principal.clientId, controller, relay, onSent };
      if (refusal === undefined) {
        const result = await caller.dispatch(call);
        const { task } = result;
        if (task === undefined) return withClientLinks(principal, connection, result);
        return { ...result, task: { ...task, json: await deps.tasks.create(principal, callable, task, relay) } };
      }
      caller.recordRefusal(call, refusal);
      return refusal;
    },
  };
  return use;
}
