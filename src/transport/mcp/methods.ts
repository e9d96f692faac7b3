import type { Principal } from "../../identity/principal.ts";
import { DomainError } from "../../domain-error.ts";
import type { Relay } from "../../integrations/relay.ts";
import { errorResult, type CallResult } from "../../integrations/tool.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { RpcError } from "../../integrations/rpc-error.ts";
import type { McpSession } from "../../runtime/sessions/session.ts";
import type { ToolUse } from "../../runtime/calls/tool-use.ts";
import type { CallableTool } from "../../runtime/tools/tools-in-view.ts";
import type { UpstreamCapabilities, UpstreamFeatures } from "../../runtime/upstream/upstream-features.ts";
import { InputNeeded } from "../../runtime/relay/input-needed.ts";
import { callResultText } from "./call-result-text.ts";
import type { RpcResult } from "./result.ts";
import { CODES, RpcFault } from "./rpc-fault.ts";
import { createToolPrinter } from "./tool-text.ts";

/** A call of a method, independent of the protocol revision. */
export interface RpcCall {
  readonly principal: Principal;
  /** Undefined in a revision without sessions. */
  readonly session: McpSession | undefined;
  readonly params: JsonObject;
  /** Aborted when the client cancels or disconnects. */
  readonly controller: AbortController;
  readonly relay: Relay;
  /** Called when the call begins to wait for its upstream. */
  readonly onSent: () => void;
  /** Checks a resolved tool before it is called. */
  readonly inspect: ((callable: CallableTool) => void) | undefined;
  /** Whether the client declared these capabilities, which an upstream requires. */
  readonly declares: (capabilities: JsonObject) => boolean;
}

/**
 * Handles calls of one method. Throws InputNeeded if the client must answer requests first; `methodFault` converts
 * other errors.
 */
export type RpcMethod = (call: RpcCall) => Promise<RpcResult>;

export interface MethodDeps {
  readonly tools: ToolUse;
  readonly features: UpstreamFeatures;
}

/** The methods of both protocol handlers, by name. */
export function createMethods({ tools, features }: MethodDeps): ReadonlyMap<string, RpcMethod> {
  const printer = createToolPrinter();

  /** A method that exists only if a visible upstream has the feature. */
  const requireFeature =
    (feature: keyof UpstreamCapabilities, method: string, answer: RpcMethod): RpcMethod =>
    async (call) => {
      const capabilities = await features.capabilities(call.principal);
      if (capabilities[feature] === undefined) throw methodNotFound(method);
      return answer(call);
    };

  const methods: Readonly<Record<string, RpcMethod>> = {
    "tools/list": async ({ principal, session, params }) =>
      printer.print(await tools.list(principal, session, optionalTextParam(params, "cursor")), {
        isLegacy: session !== undefined,
        isBound: principal.connectionId !== undefined,
      }),

    "tools/call": async (call) => {
      const { principal, session, params, controller, relay, inspect, onSent } = call;
      const name = requiredText(params, "name");
      const args = optionalObject(params, "arguments") ?? {};
      try {
        const result = await tools.call(principal, session, name, args, { controller, relay, inspect, onSent });
        if (result.inputRequired !== undefined) throw new InputNeeded(result.inputRequired);
        if (result.task !== undefined) return { text: result.task.json, ttlMs: undefined, resultType: "task" };
        return { text: callResultText(result, session !== undefined), ttlMs: undefined };
      } catch (thrown) {
        return { text: callResultText(unsupportedCapability(thrown, call)), ttlMs: undefined };
      }
    },

    "resources/list": requireFeature(
      "resources",
      "resources/list",
      async ({ principal, params, controller: { signal }, relay }) =>
        features.listResources(principal, optionalTextParam(params, "cursor"), { ...relay, signal }),
    ),
    "resources/templates/list": requireFeature(
      "resources",
      "resources/templates/list",
      async ({ principal, params, controller: { signal }, relay }) =>
        features.listResourceTemplates(principal, optionalTextParam(params, "cursor"), { ...relay, signal }),
    ),
    "resources/read": requireFeature("resources", "resources/read", async (call) => {
      const {
        principal,
        session,
        params,
        controller: { signal },
        relay,
        onSent,
      } = call;
      const uri = requiredText(params, "uri");
      try {
        return await features.readResource(principal, uri, { ...relay, signal, onSent });
      } catch (thrown) {
        throw withResourceUri(thrown, uri, session === undefined ? CODES.invalidParams : CODES.resourceNotFound);
      }
    }),
    "prompts/list": requireFeature(
      "prompts",
      "prompts/list",
      async ({ principal, params, controller: { signal }, relay }) =>
        features.listPrompts(principal, optionalTextParam(params, "cursor"), { ...relay, signal }),
    ),
    "prompts/get": requireFeature(
      "prompts",
      "prompts/get",
      async ({ principal, params, controller: { signal }, relay, onSent }) => {
        const args = optionalObject(params, "arguments");
        return features.getPrompt(principal, requiredText(params, "name"), args, { ...relay, signal, onSent });
      },
    ),
    "completion/complete": requireFeature(
      "completions",
      "completion/complete",
      async ({ principal, params, controller: { signal }, relay, onSent }) => {
        const { _meta: _, ...rest } = params;
        return features.complete(principal, rest, { ...relay, signal, onSent });
      },
    ),
  };
  return new Map(Object.entries(methods));
}

/** The error for an unknown method, or one that no visible upstream supports. */
export function methodNotFound(method: string): RpcFault {
  return new RpcFault(CODES.methodNotFound, `Method not found: ${method.slice(0, 64)}`, { httpStatus: 404 });
}

/** Throws RpcFault unless the parameter is a string. */
export function requiredText(params: JsonObject, name: string): string {
  const value = optionalTextParam(params, name);
  if (value === undefined) throw invalidParams(`${name} is required.`);
  return value;
}

export function invalidParams(message: string, data?: JsonValue): RpcFault {
  return new RpcFault(CODES.invalidParams, message, { data });
}

/** The Go SDKs send null for a field that is absent. */
export function optionalTextParam(params: JsonObject, name: string): string | undefined {
  const value = params[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  throw invalidParams(`${name} must be a string.`);
}

function optionalObject(params: JsonObject, name: string): JsonObject | undefined {
  const value = params[name];
  if (value === undefined || value === null) return undefined;
  if (isJsonObject(value)) return value;
  throw invalidParams(`${name} must be an object.`);
}

/** Adds the URI to the error for a missing resource; up to 2025-11-25 it has its own code. */
export function withResourceUri(thrown: unknown, uri: string, code: number): unknown {
  const isUpstreams = thrown instanceof RpcError && thrown.code === CODES.resourceNotFound;
  if (isUpstreams) return new RpcFault(code, thrown.message, { data: thrown.data ?? { uri } });
  const isMissing = thrown instanceof DomainError && thrown.kind === "not_found";
  return isMissing ? new RpcFault(code, thrown.message, { data: { uri } }) : thrown;
}

/**
 * Handles the error of an upstream that requires client capabilities, because they are not passed on. A client that did
 * not declare them receives MCP's own error; otherwise the result explains it.
 */
function unsupportedCapability(thrown: unknown, { declares }: RpcCall): CallResult {
  if (!(thrown instanceof RpcError) || thrown.code !== CODES.missingCapability) throw thrown;
  const { data } = thrown;
  const required = isJsonObject(data) && isJsonObject(data.requiredCapabilities) ? data.requiredCapabilities : {};
  if (!declares(required)) throw thrown;
  const { extensions, ...others } = required;
  const names = [...Object.keys(others), ...(isJsonObject(extensions) ? Object.keys(extensions) : [])].join(", ");
  return errorResult(
    `This tool asks its client for ${names}, and the client that made this call cannot answer such requests.`,
  );
}
