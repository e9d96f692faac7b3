import type { Connection } from "../../connections/connection.ts";
import { DomainError } from "../../domain-error.ts";
import type { Principal } from "../../identity/principal.ts";
import type { Relay } from "../../integrations/relay.ts";
import { INTERNAL_ERROR } from "../../integrations/rpc-error.ts";
import type { UpstreamTask } from "../../integrations/tasks.ts";
import type { JsonObject } from "../../json.ts";
import type { WarnLog } from "../../log.ts";
import { createRelayAddress } from "../relay/relay-messages.ts";
import type { CallableTool, ToolViews } from "../tools/tools-in-view.ts";
import type { RelayOptions, UpstreamFeatures } from "../upstream/upstream-features.ts";
import type { AttendedTasks, TaskMessage } from "./attended-tasks.ts";
import { asFailed, toClientTask, withResult } from "./task-json.ts";
import { keptMs, MAX_ATTENDED_TASKS, MAX_TASKS, tooManyTasks, unknownTask } from "./task-limits.ts";
import type { StoredTask, TaskOwner, TaskStore } from "./task-store.ts";
import type { UpstreamTasks } from "./upstream-tasks.ts";

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
  readonly upstreamTasks: UpstreamTasks;
  readonly attended: AttendedTasks;
  readonly links: Pick<UpstreamFeatures, "withClientLinks">;
  readonly log: WarnLog;
}

interface FoundTask {
  readonly task: StoredTask;
  readonly connection: Connection;
}

export function createTasks({ store, views, upstreamTasks, attended, links, log }: TasksDeps): Tasks {
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

  /** Cancels a task that no client will know. */
  async function discard(connection: Connection, task: UpstreamTask, relay: Relay | undefined): Promise<void> {
    try {
      const options = { client: relay?.client, signal: AbortSignal.timeout(CANCEL_TIMEOUT_MS) };
      if (task.session !== undefined) await task.session.cancel(options.signal);
      else await upstreamTasks.ask(connection, { method: "tasks/cancel", taskId: task.id }, options);
    } catch (error) {
      log.warn({ err: error, connectionId: connection.id }, "could not cancel a task that was not stored");
    }
  }

  /** Sends a message to the replica that follows a task. Does nothing if the task has ended meanwhile. */
  async function tell(
    principal: Principal,
    task: StoredTask,
    message: TaskMessage,
    signal: AbortSignal,
  ): Promise<void> {
    const { id, address = "" } = task;
    if (await attended.send(principal.accountId, address, message, signal)) return;
    const now = await store.find(ownerOf(principal), id);
    if (now?.hasEnded !== true) throw new DomainError("unavailable", "The server that followed the task has stopped.");
  }

  /** The replica that followed the task has died, and with it the upstream's session. */
  async function abandon(principal: Principal, task: StoredTask): Promise<string> {
    const error = { code: INTERNAL_ERROR, message: "The server that followed the task has stopped." };
    const json = asFailed(task.json, error);
    if (await store.update(principal.accountId, task.id, { ...task, json, hasEnded: true })) return json;
    // The task ended between the two requests.
    const ended = await store.find(ownerOf(principal), task.id);
    if (ended === undefined) throw unknownTask();
    return ended.json;
  }

  function stateOf(principal: Principal, found: FoundTask, options: RelayOptions): string | Promise<string> {
    const { task, connection } = found;
    if (task.hasEnded) return task.json;
    if (task.address === undefined) return upstreamTasks.get(principal.accountId, task, connection, options);
    return task.isAbandoned ? abandon(principal, task) : task.json;
  }

  return {
    async create(principal, { connection, tool }, task, relay) {
      const { accountId } = principal;
      const { id: upstreamId, session } = task;
      const id = createRelayAddress();
      const ttlMs = keptMs(task.ttlMs);
      const address = session && createRelayAddress();
      const json = toClientTask(task.json, id, ttlMs);
      const state = { toolName: tool.definition.name, upstreamId, address, json, ttlMs, hasEnded: false };
      const hasRoom = session === undefined || attended.hasRoom(accountId);
      let outcome: Awaited<ReturnType<TaskStore["add"]>> | undefined;
      try {
        // Only the end of a task that any replica can ask for is stored.
        const stored = {
          ...state,
          ...(session === undefined && { json: "{}" }),
          owner: ownerOf(principal),
          id,
          connectionId: connection.id,
        };
        if (hasRoom) outcome = await store.add(stored, MAX_TASKS);
      } finally {
        if (outcome !== "added") void discard(connection, task, relay);
      }
      if (!hasRoom) throw tooManyTasks(`has ${MAX_ATTENDED_TASKS} running tasks of servers with sessions`);
      if (outcome === "full") throw tooManyTasks(`holds ${MAX_TASKS} tasks`);
      if (outcome === "deleted")
        throw new DomainError("not_found", "The connection was deleted, which ended the call.");
      if (session !== undefined && address !== undefined)
        attended.attend({ accountId, connectionId: connection.id, id, address, state, session });
      return json;
    },

    async has(principal, id) {
      return (await find(principal, id)) !== undefined;
    },

    async get(principal, id, options) {
      const found = await require(principal, id);
      const json = await stateOf(principal, found, options);
      return withResult(json, (result) => links.withClientLinks(principal, found.connection, result));
    },

    async update(principal, id, inputResponses, options) {
      const { task, connection } = await require(principal, id);
      if (task.hasEnded) return;
      if (task.address !== undefined) return tell(principal, task, { inputResponses }, options.signal);
      await upstreamTasks.ask(connection, { method: "tasks/update", taskId: task.upstreamId, inputResponses }, options);
    },

    async cancel(principal, id, options) {
      const { task, connection } = await require(principal, id);
      if (task.hasEnded) return;
      if (task.address !== undefined) return tell(principal, task, { cancel: true }, options.signal);
      await upstreamTasks.ask(connection, { method: "tasks/cancel", taskId: task.upstreamId }, options);
    },
  };
}

function ownerOf({ accountId, memberId, clientId, grantId }: Principal): TaskOwner {
  return { accountId, memberId, clientId, grantId };
}
