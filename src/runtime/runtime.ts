import type { Principal } from "../identity/principal.ts";
import { errorResult, type CallResult } from "../integrations/tool.ts";
import type { JsonObject } from "../json.ts";
import { withLinkedController } from "./calls/deadline.ts";
import type { ToolPage } from "./tools/list-tools.ts";
import { RpcError } from "../integrations/rpc-error.ts";
import { negotiateProtocolVersion, parseClientInfo, type Peer } from "./sessions/session.ts";
import type { Sessions } from "./sessions/sessions.ts";
import type { ToolUse } from "./calls/tool-use.ts";

/** How a client introduces itself. */
export interface Introduction {
  /** The revision it speaks. */
  readonly protocolVersion: string;
  readonly clientInfo: Peer;
}

/** What a client learns when its session opens. */
export interface OpenedSession {
  readonly sessionId: string;
  readonly protocolVersion: string;
  /** What the service can do, as MCP defines it. */
  readonly capabilities: JsonObject;
  readonly serverInfo: Peer;
}

/** What an agent's client can do over REST and RPC. */
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
    options: { readonly signal?: AbortSignal },
  ): Promise<CallResult>;
}

/** What the runtime needs. */
export interface RuntimeDeps {
  readonly sessions: Sessions;
  readonly tools: ToolUse;
  readonly serverInfo: Peer;
}

/** What the REST and RPC runtime can do: tools, without notifications of changes. */
const RUNTIME_CAPABILITIES: JsonObject = { tools: { listChanged: false } };

/** The runtime: every call names its session by a header. */
export function createRuntime({ sessions, tools, serverInfo }: RuntimeDeps): Runtime {
  return {
    async initialize(principal, { protocolVersion, clientInfo }) {
      const version = negotiateProtocolVersion(protocolVersion);
      const session = await sessions.open(principal, version, parseClientInfo(clientInfo));
      return { sessionId: session.id, protocolVersion: version, capabilities: RUNTIME_CAPABILITIES, serverInfo };
    },

    async listTools(principal, sessionId, cursor) {
      return tools.list(principal, await sessions.require(principal, sessionId), cursor);
    },

    async callTool(principal, sessionId, name, args, { signal }) {
      const found = sessions.require(principal, sessionId);
      const session = found instanceof Promise ? await found : found;
      try {
        return await withLinkedController(signal, (controller) =>
          tools.call(principal, session, name, args, { controller }),
        );
      } catch (thrown) {
        // Only MCP clients know what to do with an upstream's own error.
        if (thrown instanceof RpcError) return errorResult(thrown.message);
        throw thrown;
      }
    },
  };
}
