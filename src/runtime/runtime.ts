import type { Principal } from "../identity/principal.ts";
import { errorResult, type CallResult } from "../integrations/tool.ts";
import type { JsonObject } from "../json.ts";
import { withLinkedController } from "./calls/linked-controller.ts";
import type { SessionToolPage } from "./tools/list-tools.ts";
import { RpcError } from "../integrations/rpc-error.ts";
import { negotiateProtocolVersion, parseClientInfo, type Peer } from "./sessions/session.ts";
import type { Sessions } from "./sessions/sessions.ts";
import type { ToolUse } from "./calls/tool-use.ts";

export interface Introduction {
  /** The MCP revision that the client requests. */
  readonly protocolVersion: string;
  readonly clientInfo: Peer;
}

export interface OpenedSession {
  readonly sessionId: string;
  readonly protocolVersion: string;
  /** As defined by MCP. */
  readonly capabilities: JsonObject;
  readonly serverInfo: Peer;
}

/** The operations of agents over REST and RPC. */
export interface Runtime {
  /** Opens a session. Throws `invalid` when `clientInfo` exceeds its limits. */
  initialize(principal: Principal, introduction: Introduction): Promise<OpenedSession>;
  /** Returns a page of the tools that the principal may use, sorted by name. */
  listTools(
    principal: Principal,
    sessionId: string | null | undefined,
    cursor: string | undefined,
  ): Promise<SessionToolPage>;
  /**
   * Calls a tool. Failures of the tool or its upstream are results with `isError`; an unknown tool throws `not_found`.
   */
  callTool(
    principal: Principal,
    sessionId: string | null | undefined,
    name: string,
    args: JsonObject,
    options: {
      readonly signal?: AbortSignal;
      /** Called when the call begins to wait for its upstream. */
      readonly onSent?: (() => void) | undefined;
    },
  ): Promise<CallResult>;
}

export interface RuntimeDeps {
  readonly sessions: Sessions;
  readonly tools: ToolUse;
  readonly serverInfo: Peer;
}

/** REST and RPC clients receive no notifications. */
const RUNTIME_CAPABILITIES: JsonObject = { tools: { listChanged: false } };

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

    async callTool(principal, sessionId, name, args, { signal, onSent }) {
      const found = sessions.require(principal, sessionId);
      const session = found instanceof Promise ? await found : found;
      try {
        return await withLinkedController(signal, (controller) =>
          tools.call(principal, session, name, args, { controller, onSent, endsWithConnection: true }),
        );
      } catch (thrown) {
        // Only MCP clients can interpret the upstream's JSON-RPC error.
        if (thrown instanceof RpcError) return errorResult(thrown.explanation);
        throw thrown;
      }
    },
  };
}
