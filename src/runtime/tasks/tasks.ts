import type { Connection } from "../../connections/connection.ts";
import { DomainError } from "../../domain-error.ts";
import type { Principal } from "../../identity/principal.ts";
import type { TaskRequest } from "../../integrations/features.ts";
import type { Relay } from "../../integrations/relay.ts";
import { INVALID_PARAMS, RpcError } from "../../integrations/rpc-error.ts";
import type { UpstreamTask } from "../../integrations/tasks.ts";
import type { JsonObject } from "../../json.ts";
import type { WarnLog } from "../../log.ts";
import { connectionRefusal } from "../calls/connection-refusal.ts";
import { createRelayAddress } from "../relay/relay-messages.ts";
import type { CallableTool, ToolViews } from "../tools/tools-in-view.ts";
import type { RelayOptions, UpstreamFeatures } from "../upstream/upstream-features.ts";
import type { UpstreamRequester } from "../upstream/upstream-requests.ts";
import { hasEnded, parseTask, toClientTask, withResult } from "./task-json.ts";
import type { StoredTask, TaskOwner, TaskStore } from "./task-store.ts";

/** Tasks that an account may hold (DESIGN §8). */
export const MAX_TASKS = 1_000;
/** The longest time that a task is kept after its creation, in milliseconds: a day. */
export const MAX_TTL_MS = 86_400_000;
/** The longest stored result, in characters. The upstream keeps a longer one. */
const MAX_STORED_LENGTH = 262_144;
/** What `createRelayAddress` returns. */
const TASK_ID = /^[A-Za-z0-9_-]{22}$/;
/** How long a request waits for the first tools of a connection, in milliseconds. */
const VIEW_WAIT_MS = 2_000;
const CANCEL_TIMEOUT_MS = 10_000;

/**
 * The tasks extension (SEP-2663). A task belongs to the account, client and grant of its call, and only as long as they
 * may call its tool. For everybody else its id is unknown. Methods throw `not_found` for an unknown id, RpcError with the
 * upstream's error, `unavailable`, or the reason of the signal.
 */
export interface Tasks {
  /** Stores the task of a call before its id is known to anybody. Returns it as JSON. Throws `exhausted`. */
  create(principal: Principal, callable: CallableTool, task: UpstreamTask, relay: Relay | undefined): Promise<string>;
  has(principal: Principal, id: string): Promise<boolean>;
  /** Returns the task as JSON. */
  get(principal: Principal, id: string, options: RelayOptions): Promise<string>;
  /** Gives the task the client's answers. */
  update(principal: Principal, id: string, inputResponses: JsonObject, options: RelayOptions): Promise<void>;
  cancel(principal: Principal, id: string, options: RelayOptions): Promise<void>;
}

export interface TasksDeps {
  readonly store: TaskStore;
  readonly views: ToolViews;
  readonly requester: UpstreamRequester;
  readonly links: Pick<UpstreamFeatures, "withClientLinks">;
  readonly log: WarnLog;
}

interface FoundTask {
  readonly task: StoredTask;
  readonly connection: Connection;
}

export function createTasks({ store, views, requester, links, log }: TasksDeps): Tasks {
  async function find(principal: Principal, id: string): Promise<FoundTask | undefined> {
    const task = TASK_ID.test(id) ? await store.find(ownerOf(principal), id) : undefined;
    if (task === undefined) return undefined;
    const view = await views.of(principal, VIEW_WAIT_MS);
    const callable = view.byConnection.get(task.connectionId)?.get(task.toolName);
    return callable?.tool.definition.name === task.toolName ? { task, connection: callable.connection } : undefined;
  }

  async function require(principal: Principal, id: string): Promise<FoundTask> {
    const found = await find(principal, id);
    if (found === undefined) throw unknownTask();
    return found;
  }

  async function ask(connection: Connection, request: TaskRequest, options: RelayOptions) {
    const refusal = connectionRefusal(connection);
    if (refusal !== undefined) throw new DomainError("unavailable", refusal);
    try {
      return await requester.ask({ connection, listing: undefined }, request, options);
    } catch (thrown) {
      // The error could contain the upstream's id.
      if (thrown instanceof RpcError && thrown.code === INVALID_PARAMS) throw unknownTask();
      throw thrown;
    }
  }

  /** Asks the upstream for a task, and stores how it ended. */
  async function refresh(
    { accountId }: Principal,
    task: StoredTask,
    connection: Connection,
    options: RelayOptions,
  ): Promise<string> {
    const request = { method: "tasks/get", taskId: task.upstreamId } as const;
    const { text, ttlMs: saidMs } = await ask(connection, request, options);
    const ttlMs = keptMs(saidMs);
    const json = toClientTask(text, task.id, ttlMs);
    const isEnd = hasEnded(parseTask(text)) && json.length <= MAX_STORED_LENGTH;
    if (isEnd || ttlMs !== task.ttlMs)
      await store.update(accountId, task.id, { ...task, ttlMs, ...(isEnd && { json, hasEnded: true }) });
    return json;
  }

  /** Cancels a task that no client will know. */
  async function discard(connection: Connection, taskId: string, relay: Relay | undefined): Promise<void> {
    try {
      const options = { client: relay?.client, signal: AbortSignal.timeout(CANCEL_TIMEOUT_MS) };
      await ask(connection, { method: "tasks/cancel", taskId }, options);
    } catch (error) {
      log.warn({ err: error, connectionId: connection.id }, "could not cancel a task that was not stored");
    }
  }

  return {
    async create(principal, { connection, tool }, { id: upstreamId, json: said, ttlMs: saidMs }, relay) {
      const id = createRelayAddress();
      const ttlMs = keptMs(saidMs);
      const json = toClientTask(said, id, ttlMs);
      const state = { toolName: tool.definition.name, upstreamId, json, ttlMs, hasEnded: false };
      let outcome: Awaited<ReturnType<TaskStore["add"]>> | undefined;
      try {
        const owner = ownerOf(principal);
        outcome = await store.add({ ...state, owner, id, connectionId: connection.id }, MAX_TASKS);
      } finally {
        if (outcome !== "added") void discard(connection, upstreamId, relay);
      }
      if (outcome === "full") throw tooManyTasks();
      if (outcome === "deleted")
        throw new DomainError("not_found", "The connection was deleted, which ended the call.");
      return json;
    },

    async has(principal, id) {
      return (await find(principal, id)) !== undefined;
    },

    async get(principal, id, options) {
      const { task, connection } = await require(principal, id);
      const json = task.hasEnded ? task.json : await refresh(principal, task, connection, options);
      return withResult(json, (result) => links.withClientLinks(principal, connection, result));
    },

    async update(principal, id, inputResponses, options) {
      const { task, connection } = await require(principal, id);
      if (task.hasEnded) return;
      await ask(connection, { method: "tasks/update", taskId: task.upstreamId, inputResponses }, options);
    },

    async cancel(principal, id, options) {
      const { task, connection } = await require(principal, id);
      if (task.hasEnded) return;
      await ask(connection, { method: "tasks/cancel", taskId: task.upstreamId }, options);
    },
  };
}

function keptMs(ttlMs = MAX_TTL_MS): number {
  return Math.min(ttlMs, MAX_TTL_MS);
}

function ownerOf({ accountId, clientId, grantId }: Principal): TaskOwner {
  return { accountId, clientId, grantId };
}

function unknownTask(): DomainError {
  return new DomainError("not_found", "Unknown task: it does not exist, has expired, or belongs to another client.");
}

function tooManyTasks(): DomainError {
  const message =
    `The account holds ${MAX_TASKS} tasks, which is the limit, so this one was canceled. ` +
    "Whether the call took effect is not known. Try again when tasks have expired.";
  return new DomainError("exhausted", message);
}
