import type { Logger } from "pino";
import { DomainError } from "../../../domain-error.ts";
import type { JsonObject } from "../../../json.ts";
import type { Features, FeatureRequest, FeatureAnswer, UpstreamNotification } from "../../features.ts";
import type { Relay } from "../../relay.ts";
import type { CallOptions } from "../../target.ts";
import { InputUnanswered, requestWithInput } from "../input-required.ts";
import type { ListStreams } from "../sessions/list-streams.ts";
import type { LogLevels } from "../sessions/log-level.ts";
import { readFeatureListing } from "./read-feature-listing.ts";
import type { McpReply, Requester } from "../sessions/request.ts";
import type { UpstreamSessions } from "../sessions/sessions.ts";
import { type RpcAnswer, UpstreamFailure } from "../failures/upstream-failure.ts";
import type { UpstreamWatcher } from "../sessions/watch-upstream.ts";

export interface FeaturesDeps {
  readonly sessions: UpstreamSessions;
  readonly requester: Requester;
  readonly levels: LogLevels;
  readonly watcher: UpstreamWatcher;
  readonly listStreams: ListStreams;
  readonly log: Logger;
  /** Milliseconds per listing. */
  readonly timeoutMs: number;
  readonly onNotification: (connectionId: number, notification: UpstreamNotification) => void;
}

/** Implements the features besides tools in the sessions that tool calls use. */
export function createFeatures(deps: FeaturesDeps): Features {
  const { sessions, requester, levels, timeoutMs } = deps;

  return {
    listFeatures: async (target, { signal }) => {
      const deadlineMs = performance.now() + timeoutMs;
      try {
        return await sessions.use(target, { repeatable: true, signal }, (session) =>
          readFeatureListing(deps, session, { deadlineMs, signal }),
        );
      } catch (error) {
        throw asUnavailable(error);
      }
    },

    request: async (target, request, options) => {
      const { signal } = options;
      const { connectionId } = target;
      const client = isOfClient(request) ? options.client : undefined;
      try {
        return await sessions.use(target, { repeatable: true, client, signal }, async (session) => {
          if (request.method === "resources/subscribe" && session.revision === "modern") return ACCEPTED;
          await levels.ensure(session, options);
          const { reply, required } = await requestWithInput(options, connectionId, (input) =>
            requester.request(session, {
              ...requestOf(request, session.revision === "modern" ? input : {}),
              relay: relayOf(request, options),
              onNotification: (notification) => deps.onNotification(connectionId, notification),
              deadlineMs: undefined,
              signal,
            }),
          );
          return required === undefined ? readAnswer(reply) : { kind: "input_required", required };
        });
      } catch (error) {
        if (error instanceof InputUnanswered) return { kind: "error", ...toAnswer(error) };
        if (error instanceof UpstreamFailure && error.answer !== undefined) return { kind: "error", ...error.answer };
        throw asUnavailable(error);
      }
    },

    watchLists: (target, listener) => deps.listStreams.listen(target, listener),
    watchResources: (target, uris, client, listener) => deps.watcher.watchResources(target, uris, client, listener),
  };
}

const ACCEPTED: FeatureAnswer = { kind: "result", json: "{}", ttlMs: undefined };

function requestOf(request: FeatureRequest, input: JsonObject): { method: string; params: JsonObject; name?: string } {
  const { method } = request;
  switch (method) {
    case "resources/read":
      return { method, params: { uri: request.uri, ...input }, name: request.uri };
    case "resources/subscribe":
      return { method, params: { uri: request.uri } };
    case "prompts/get": {
      const { name, args } = request;
      return { method, params: { name, ...(args !== undefined && { arguments: args }), ...input }, name };
    }
    case "completion/complete":
      return { method, params: request.params };
    case "skills/get":
      return { method, params: { uri: request.uri } };
    case "resources/directory/read": {
      const { uri, cursor } = request;
      return { method, params: { uri, ...(cursor !== undefined && { cursor }) } };
    }
    case "tasks/get":
    case "tasks/cancel":
      return { method, params: { taskId: request.taskId }, name: request.taskId };
    case "tasks/update": {
      const { taskId, inputResponses } = request;
      return { method, params: { taskId, inputResponses }, name: taskId };
    }
  }
}

function relayOf(request: FeatureRequest, options: CallOptions): Relay {
  return request.method === "completion/complete" || !isOfClient(request) ? { trace: options.trace } : options;
}

/** Requests about skills continue the list, which the service requested with its own capabilities. */
function isOfClient({ method }: FeatureRequest): boolean {
  return method !== "skills/get" && method !== "resources/directory/read";
}

function readAnswer({ result: { ttlMs }, text }: McpReply): FeatureAnswer {
  return { kind: "result", json: text(), ttlMs: typeof ttlMs === "number" && ttlMs >= 0 ? ttlMs : undefined };
}

function toAnswer({ code, message, data }: InputUnanswered): RpcAnswer {
  return { code, message, data };
}

function asUnavailable(error: unknown): unknown {
  return error instanceof UpstreamFailure ? new DomainError("unavailable", error.message, { cause: error }) : error;
}
