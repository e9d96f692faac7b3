import { setTimeout as sleep } from "node:timers/promises";
import { isJsonObject, printJson, type JsonObject } from "../../../json.ts";
import { memberOf, withMembers } from "../../../json-text.ts";
import type { RelayedClient } from "../../relayed-client.ts";
import type { Target } from "../../target.ts";
import type { SessionTask, UpstreamTask } from "../../tasks.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";
import { MAX_TASK_ID } from "../call-result.ts";
import type { McpReply, Requester } from "./request.ts";
import type { UpstreamSession } from "./session.ts";
import type { UpstreamSessions } from "./sessions.ts";

/** How long a server of 2025-11-25 is asked to keep a task, in milliseconds. */
export const REQUESTED_TTL_MS = 3_600_000;

/** Limits for the milliseconds between two requests for a task, whatever its server suggests. */
const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
const DEFAULT_PAUSE_MS = 1_000;
/** Failures in a row after which the task counts as lost. */
const MAX_FAILURES = 5;
const REQUEST_TIMEOUT_MS = 30_000;
/** UTF-16 units. */
const MAX_MESSAGE = 4_096;

const RELATED_TASK = "io.modelcontextprotocol/related-task";

export interface SessionTaskDeps {
  readonly sessions: UpstreamSessions;
  readonly requester: Requester;
  readonly target: Target;
  readonly session: UpstreamSession;
  readonly client: RelayedClient;
}

/** Reads the task of a server of 2025-11-25, or undefined if the server returned a result instead. */
export function readSessionTask({ result }: McpReply, deps: SessionTaskDeps): UpstreamTask | undefined {
  const { task } = result;
  if (!isJsonObject(task) || typeof task.taskId !== "string" || task.taskId.length > MAX_TASK_ID) return undefined;
  const { ttl } = task;
  return {
    id: task.taskId,
    // The first state is always `working`, so that the client must ask for the task, whose requests and results follow
    // later.
    json: printJson({ ...asExtension(task), status: "working" }),
    ttlMs: typeof ttl === "number" && ttl >= 0 ? ttl : undefined,
    session: createSessionTask(deps, task),
  };
}

function createSessionTask(
  { sessions, requester, target, session, client }: SessionTaskDeps,
  { taskId = "", pollInterval }: JsonObject,
): SessionTask {
  const params = { taskId };
  const pauseMs = typeof pollInterval === "number" ? pollInterval : DEFAULT_PAUSE_MS;

  const get = async (signal: AbortSignal): Promise<JsonObject> => {
    const deadlineMs = performance.now() + REQUEST_TIMEOUT_MS;
    return (await requester.request(session, { method: "tasks/get", params, deadlineMs, signal })).result;
  };

  /** Waits for the end of a task, and answers requests of its server meanwhile. */
  async function awaitEnd(asked: RelayedClient, signal: AbortSignal): Promise<string> {
    const relay = { client: asked };
    try {
      const request = { method: "tasks/result", params, relay, deadlineMs: undefined, signal };
      const { text } = await requester.request(session, request);
      return completed(await get(signal).catch(() => undefined), text());
    } catch (error) {
      // For a canceled or failed task the server returns an error instead of the result.
      if (!(error instanceof UpstreamFailure) || error.answer === undefined) throw error;
      const state = await get(signal);
      if (state.status === "cancelled") return printJson(asExtension(state));
      const { code, message, data } = error.answer;
      const answer = { code, message, ...(data !== undefined && { data }) };
      return printJson({ ...asExtension(state), status: "failed", error: answer });
    }
  }

  async function follow(asked: RelayedClient, onState: (json: string) => void, signal: AbortSignal): Promise<string> {
    let failures = 0;
    for (;;) {
      try {
        const state = await get(signal);
        failures = 0;
        if (state.status !== "working") return await awaitEnd(asked, signal);
        onState(printJson(asExtension(state)));
      } catch (error) {
        failures += 1;
        if (!mayPass(error) || failures >= MAX_FAILURES) throw error;
      }
      await sleep(Math.min(Math.max(pauseMs, MIN_PAUSE_MS), MAX_PAUSE_MS), undefined, { signal, ref: false });
    }
  }

  return {
    follow: ({ ask, onState, signal }) => {
      const asked: RelayedClient = { ...client, audience: client.audience, input: undefined, ask };
      return sessions.use(target, { repeatable: false, client: asked, signal }, (current) => {
        if (current !== session) throw new UpstreamFailure("refused", "The MCP server ended the session of the task.");
        return follow(asked, onState, signal);
      });
    },
    cancel: async (signal) => {
      const deadlineMs = performance.now() + REQUEST_TIMEOUT_MS;
      await requester.request(session, { method: "tasks/cancel", params, deadlineMs, signal });
    },
  };
}

/** Whether the server may answer the next request. */
function mayPass(error: unknown): boolean {
  return error instanceof UpstreamFailure && !["rpc", "session_lost", "refused", "unauthorized"].includes(error.kind);
}

function completed(state: JsonObject | undefined, result: string): string {
  const meta = memberOf(result, "_meta");
  const kept = meta && withMembers(result.slice(meta.start, meta.end), { [RELATED_TASK]: undefined });
  const clean = withMembers(result, {
    resultType: '"complete"',
    ...(meta && { _meta: kept === "{}" ? undefined : kept }),
  });
  return withMembers(printJson(asExtension(state ?? {})), { status: '"completed"', result: clean });
}

/** A task of 2025-11-25 with the names of the extension. Every state is stored, so it has only the known fields. */
function asExtension({ status, statusMessage, createdAt, lastUpdatedAt, pollInterval }: JsonObject): JsonObject {
  const now = new Date().toISOString();
  return {
    status: typeof status === "string" ? status : "working",
    ...(typeof statusMessage === "string" && { statusMessage: statusMessage.slice(0, MAX_MESSAGE) }),
    createdAt: typeof createdAt === "string" ? createdAt : now,
    lastUpdatedAt: typeof lastUpdatedAt === "string" ? lastUpdatedAt : now,
    ...(typeof pollInterval === "number" && { pollIntervalMs: Math.round(pollInterval) }),
  };
}
