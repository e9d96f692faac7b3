import type { Principal } from "../auth/principal.ts";
import { invalid } from "../domain-error.ts";
import type { Relay } from "../integrations/relay.ts";
import type { CallResult } from "../integrations/tool.ts";
import type { JsonObject } from "../json.ts";
import type { ToolCaller } from "./call-tool.ts";
import { negotiateProtocolVersion, RUNTIME_CAPABILITIES, type Introduction, type OpenedSession } from "./initialize.ts";
import { createToolPages, type ToolPage } from "./list-tools.ts";
import { ambiguousResult, resolveTool, unknownTool } from "./resolve-tool.ts";
import { parseClientInfo, type Peer, type Session } from "./session.ts";
import { createSessionTools } from "./session-tools.ts";
import type { Sessions } from "./sessions.ts";
import type { OfferedTool, ToolViews } from "./tools-in-view.ts";

/** How long a listing waits for the very first tools of a connection, in milliseconds: without them it is incomplete. */
const LISTING_PATIENCE_MS = 10_000;
/** How long a call waits for those of connections it may not even mean, in milliseconds. */
const CALLING_PATIENCE_MS = 2_000;

/** What an agent's client can do; the domain behind the REST and RPC runtime. */
export interface Runtime {
  /** Opens a session. Throws `invalid` when the client introduces itself past the limits. */
  initialize(principal: Principal, introduction: Introduction): Promise<OpenedSession>;
  /** A page of the tools that the session's principal may use, by name. */
  listTools(principal: Principal, sessionId: string | null | undefined, cursor: string | undefined): Promise<ToolPage>;
  /** Calls a tool. What goes wrong in it or its upstream is a result with `isError`; an unknown tool throws `not_found`. */
  callTool(
    principal: Principal,
    sessionId: string | null | undefined,
    name: string,
    args: JsonObject,
    options: { readonly signal?: AbortSignal; readonly relay?: Relay },
  ): Promise<CallResult>;
  /** Ends the principal's session. */
  endSession(principal: Principal, sessionId: string | null | undefined): Promise<void>;
}

/** What the runtime needs. */
export interface RuntimeDeps {
  readonly sessions: Sessions;
  readonly views: ToolViews;
  readonly caller: ToolCaller;
  readonly serverInfo: Peer;
}

/** The runtime. A warm call asks the database nothing: session, view and compiled schema are in memory. */
export function createRuntime(deps: RuntimeDeps): Runtime {
  const { sessions, views, caller } = deps;
  const sessionTools = createSessionTools();
  const pages = createToolPages();

  /** Has the session remember what it must before the call goes out; false when that came to nothing. */
  async function remember(session: Session, offer: OfferedTool, bare: boolean, isSent: boolean): Promise<boolean> {
    const { tool, connection } = offer;
    // A bound session sees one connection and ends with it: there is nothing to remember.
    if (session.connectionId !== undefined) return true;
    const isNamed = !bare || session.bareNameOwners.get(tool.id) === connection.id;
    if (isNamed && (!isSent || session.calledConnectionIds.has(connection.id))) return true;
    const claimed = await sessions.claim(session, {
      bareNameOwners: new Map(isNamed ? [] : [[tool.id, connection.id]]),
      calledConnectionId: isSent ? connection.id : undefined,
    });
    // Undefined: the connection was deleted just now. Another owner: another replica listed the name first.
    return claimed !== undefined && (!bare || claimed.bareNameOwners.get(tool.id) === connection.id);
  }

  return {
    async initialize(principal, { protocolVersion, clientInfo }) {
      const version = negotiateProtocolVersion(protocolVersion);
      const session = await sessions.open(principal, version, parseClientInfo(clientInfo));
      const { serverInfo } = deps;
      return { sessionId: session.id, protocolVersion: version, capabilities: RUNTIME_CAPABILITIES, serverInfo };
    },

    async listTools(principal, sessionId, cursor) {
      const session = await sessions.require(principal, sessionId);
      const view = await views.of(principal, LISTING_PATIENCE_MS);
      let listing = sessionTools.listing(session, view);
      if (listing.unclaimed.size > 0 && session.connectionId === undefined) {
        const claimed = await sessions.claim(session, {
          bareNameOwners: listing.unclaimed,
          calledConnectionId: undefined,
        });
        listing = sessionTools.listing(claimed ?? session, view);
      }
      return pages.page(listing.tools, cursor);
    },

    async callTool(principal, sessionId, name, args, { signal, relay }) {
      if (name === "") throw invalid("name", "name is required: the name of the tool to call.");
      const found = sessions.require(principal, sessionId);
      const session = found instanceof Promise ? await found : found;
      const seen = views.of(principal, CALLING_PATIENCE_MS);
      const view = seen instanceof Promise ? await seen : seen;

      const resolution = resolveTool(session, view, name);
      if (resolution.kind === "unknown") throw unknownTool(name);
      if (resolution.kind === "moved") throw unknownTool(name, resolution.candidates);
      if (resolution.kind === "ambiguous") return ambiguousResult(name, resolution.candidates);

      const { offer, bare } = resolution;
      const refusal = caller.refusal(offer, args);
      const isRemembered = await remember(session, offer, bare, refusal === undefined);
      if (!isRemembered) throw unknownTool(name);
      const call = { offer, args, clientId: principal.clientId, signal, relay };
      if (refusal === undefined) return caller.dispatch(call);
      caller.recordRefusal(call, refusal);
      return refusal;
    },

    async endSession(principal, sessionId) {
      await sessions.end(principal, sessionId);
    },
  };
}
