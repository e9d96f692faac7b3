import type { Logger } from "pino";
import { DomainError } from "../../../domain-error.ts";
import type { JsonObject } from "../../../json.ts";
import type { Features, Question, QuestionAnswer, UpstreamNews } from "../../features.ts";
import type { CallOptions } from "../../target.ts";
import type { ListStreams } from "../sessions/list-streams.ts";
import type { LogLevels } from "../log-level.ts";
import { readOffer } from "./read-offer.ts";
import type { Requester } from "../request.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";
import type { Watcher } from "../sessions/watch-upstream.ts";

const INTERNAL_ERROR = -32603;

/** What the features of MCP servers need. */
export interface FeaturesDeps {
  readonly sessions: Sessions;
  readonly requester: Requester;
  readonly levels: LogLevels;
  readonly watcher: Watcher;
  readonly listStreams: ListStreams;
  readonly log: Logger;
  /** For one question or survey, in milliseconds. */
  readonly timeoutMs: number;
  /** Hears what upstreams say of themselves while they answer. */
  readonly onNews: (connectionId: number, news: UpstreamNews) => void;
}

/** What MCP servers offer beyond tools, in the sessions that their tools are called in. */
export function createFeatures(deps: FeaturesDeps): Features {
  const { sessions, requester, levels, timeoutMs } = deps;

  return {
    survey: async (target, { signal }) => {
      const deadlineMs = performance.now() + timeoutMs;
      try {
        return await sessions.use(target, { repeatable: true, signal }, (session) =>
          readOffer(deps, session, { deadlineMs, signal }),
        );
      } catch (error) {
        throw asUnavailable(error);
      }
    },

    ask: async (target, question, options) => {
      const { signal } = options;
      const deadlineMs = performance.now() + timeoutMs;
      try {
        return await sessions.use(target, { repeatable: true, signal }, async (session) => {
          await levels.ensure(session, options);
          const { result } = await requester.request(session, {
            ...requestOf(question),
            relay: relayOf(question, options),
            onNews: (news) => deps.onNews(target.connectionId, news),
            deadlineMs,
            signal,
          });
          return readAnswer(result);
        });
      } catch (error) {
        if (error instanceof UpstreamFailure && error.answer !== undefined) return { kind: "error", ...error.answer };
        throw asUnavailable(error);
      }
    },

    watch: (target, uris, hear) =>
      uris.length === 0 ? deps.listStreams.listen(target, hear) : deps.watcher.watchResources(target, uris, hear),
  };
}

function requestOf(question: Question): { method: string; params: JsonObject; name?: string } {
  const { method } = question;
  switch (method) {
    case "resources/read":
      return { method, params: { uri: question.uri }, name: question.uri };
    case "prompts/get": {
      const { name, args } = question;
      return { method, params: args === undefined ? { name } : { name, arguments: args }, name };
    }
    case "completion/complete":
      return { method, params: question.params };
  }
}

function relayOf({ method }: Question, options: CallOptions): CallOptions | undefined {
  return method === "completion/complete" ? undefined : options;
}

/** The result without the words of its revision, which whoever passes it on says for himself. */
function readAnswer(said: JsonObject): QuestionAnswer {
  const { resultType, ttlMs: _ttlMs, cacheScope: _cacheScope, ...result } = said;
  if (resultType === "input_required") {
    const message = "The server asks for further input from a person, which is not supported here.";
    return { kind: "error", code: INTERNAL_ERROR, message, data: undefined };
  }
  return { kind: "result", result };
}

function asUnavailable(error: unknown): unknown {
  return error instanceof UpstreamFailure ? new DomainError("unavailable", error.message, { cause: error }) : error;
}
