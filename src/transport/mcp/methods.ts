import type { Principal } from "../../identity/principal.ts";
import { DomainError } from "../../domain-error.ts";
import type { Relay } from "../../integrations/relay.ts";
import { errorResult, type CallResult } from "../../integrations/tool.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { RpcError } from "../../integrations/rpc-error.ts";
import type { Session } from "../../runtime/sessions/session.ts";
import type { ToolUse } from "../../runtime/calls/tool-use.ts";
import type { CallableTool } from "../../runtime/tools/tools-in-view.ts";
import type { UpstreamCapabilities, UpstreamFeatures } from "../../runtime/upstream/upstream-features.ts";
import { toResult, type RpcResult } from "./result.ts";
import { CODES, RpcFault } from "./rpc-fault.ts";
import { createToolPrinter } from "./tool-text.ts";

/** One call of a method, everything about its protocol revision settled. */
export interface RpcCall {
  readonly principal: Principal;
  /** Undefined in a revision without sessions. */
  readonly session: Session | undefined;
  readonly params: JsonObject;
  /** Aborted when nobody awaits the answer any more. */
  readonly controller: AbortController;
  readonly relay: Relay;
  /** Looks at a tool before it is called. */
  readonly inspect: ((callable: CallableTool) => void) | undefined;
  /** Whether the client says that it can do what an upstream asks of clients; never believed without it saying so. */
  readonly declares: (capabilities: JsonObject) => boolean;
}

/** Answers calls of one method. What it throws is told by `methodFault`. */
export type RpcMethod = (call: RpcCall) => Promise<RpcResult>;

/** What the methods are made of. */
export interface MethodDeps {
  readonly tools: ToolUse;
  readonly features: UpstreamFeatures;
}

/** The methods that both handlers share, by name. */
export function createMethods({ tools, features }: MethodDeps): ReadonlyMap<string, RpcMethod> {
  const printer = createToolPrinter();

  /** A method that exists only where an upstream in view offers what it is about. */
  const offered =
    (feature: keyof UpstreamCapabilities, method: string, answer: RpcMethod): RpcMethod =>
    async (call) => {
      const capabilities = await features.capabilities(call.principal);
      if (capabilities[feature] === undefined) throw methodNotFound(method);
      return answer(call);
    };

  const methods: Readonly<Record<string, RpcMethod>> = {
    "tools/list": async ({ principal, session, params }) =>
      printer.print(await tools.list(principal, session, optionalText(params, "cursor")), session !== undefined),

    "tools/call": async (call) => {
      const { principal, session, params, controller, relay, inspect } = call;
      const name = requiredText(params, "name");
      const args = optionalObject(params, "arguments") ?? {};
      try {
        return fromCallResult(await tools.call(principal, session, name, args, { controller, relay, inspect }));
      } catch (thrown) {
        return fromCallResult(askedTooMuch(thrown, call));
      }
    },

    "resources/list": offered(
      "resources",
      "resources/list",
      async ({ principal, params, controller: { signal }, relay }) =>
        cacheable(await features.listResources(principal, optionalText(params, "cursor"), { ...relay, signal })),
    ),
    "resources/templates/list": offered(
      "resources",
      "resources/templates/list",
      async ({ principal, params, controller: { signal }, relay }) =>
        cacheable(
          await features.listResourceTemplates(principal, optionalText(params, "cursor"), { ...relay, signal }),
        ),
    ),
    "resources/read": offered("resources", "resources/read", async (call) => {
      const {
        principal,
        session,
        params,
        controller: { signal },
        relay,
      } = call;
      const uri = requiredText(params, "uri");
      try {
        return cacheable(await features.readResource(principal, uri, { ...relay, signal }));
      } catch (thrown) {
        throw nameMissing(thrown, uri, session === undefined ? CODES.invalidParams : CODES.resourceNotFound);
      }
    }),
    "prompts/list": offered("prompts", "prompts/list", async ({ principal, params, controller: { signal }, relay }) =>
      cacheable(await features.listPrompts(principal, optionalText(params, "cursor"), { ...relay, signal })),
    ),
    "prompts/get": offered("prompts", "prompts/get", async ({ principal, params, controller: { signal }, relay }) => {
      const args = optionalObject(params, "arguments");
      return toResult(await features.getPrompt(principal, requiredText(params, "name"), args, { ...relay, signal }));
    }),
    "completion/complete": offered(
      "completions",
      "completion/complete",
      async ({ principal, params, controller: { signal }, relay }) => {
        const { _meta: _, ...rest } = params;
        return toResult(await features.complete(principal, rest, { ...relay, signal }));
      },
    ),
  };
  return new Map(Object.entries(methods));
}

/** The refusal of a method that is not served: unknown, or offered by nobody in view. */
export function methodNotFound(method: string): RpcFault {
  return new RpcFault(CODES.methodNotFound, `Method not found: ${method.slice(0, 64)}`, { httpStatus: 404 });
}

/** A parameter that must be text. Throws RpcFault. */
export function requiredText(params: JsonObject, name: string): string {
  const value = optionalText(params, name);
  if (value === undefined) throw invalidParams(`${name} is required.`);
  return value;
}

/** A refusal of parameters. */
export function invalidParams(message: string, data?: JsonValue): RpcFault {
  return new RpcFault(CODES.invalidParams, message, { data });
}

function optionalText(params: JsonObject, name: string): string | undefined {
  const value = params[name];
  if (value === undefined || typeof value === "string") return value;
  throw invalidParams(`${name} must be a string.`);
}

function optionalObject(params: JsonObject, name: string): JsonObject | undefined {
  const value = params[name];
  if (value === undefined || isJsonObject(value)) return value;
  throw invalidParams(`${name} must be an object.`);
}

function cacheable(result: JsonObject): RpcResult {
  return toResult(result, { isCacheable: true });
}

function fromCallResult({ content, isError, structuredContent, meta }: CallResult): RpcResult {
  const data = structuredContent === undefined ? "" : `,"structuredContent":${JSON.stringify(structuredContent)}`;
  const mark = isError ? ',"isError":true' : "";
  return { members: `"content":${JSON.stringify(content)}${data}${mark}`, meta, isCacheable: false };
}

/** A resource that there is not is named; up to 2025-11-25 the error has a code of its own. */
function nameMissing(thrown: unknown, uri: string, code: number): unknown {
  const isMissing = thrown instanceof DomainError && thrown.kind === "not_found";
  return isMissing ? new RpcFault(code, thrown.message, { data: { uri } }) : thrown;
}

/**
 * An upstream asked something of its client that we do not pass on. A client that never said it could do that is told so
 * by MCP's own error; one that did is told that we stand between.
 */
function askedTooMuch(thrown: unknown, { declares }: RpcCall): CallResult {
  if (!(thrown instanceof RpcError) || thrown.code !== CODES.missingCapability) throw thrown;
  const { data } = thrown;
  const required = isJsonObject(data) && isJsonObject(data.requiredCapabilities) ? data.requiredCapabilities : {};
  if (!declares(required)) throw thrown;
  const names = Object.keys(required).join(", ");
  return errorResult(`This tool asks its client for ${names}, which is not passed on here. It cannot be used.`);
}
