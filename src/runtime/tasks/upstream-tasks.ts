import type { Connection } from "../../connections/connection.ts";
import { DomainError } from "../../domain-error.ts";
import type { TaskRequest } from "../../integrations/features.ts";
import { INVALID_PARAMS, RpcError } from "../../integrations/rpc-error.ts";
import { connectionRefusal } from "../calls/connection-refusal.ts";
import type { FeatureResult, RelayOptions } from "../upstream/upstream-features.ts";
import type { UpstreamRequester } from "../upstream/upstream-requests.ts";
import { hasEnded, parseTask, toClientTask } from "./task-json.ts";
import { keptMs, MAX_STORED_LENGTH, unknownTask } from "./task-limits.ts";
import type { StoredTask, TaskStore } from "./task-store.ts";

/** Tasks of upstreams of 2026-07-28, which any replica can ask. */
export interface UpstreamTasks {
  /** Asks for the state, and stores it if the task has ended. Returns it as JSON. */
  get(accountId: string, task: StoredTask, connection: Connection, options: RelayOptions): Promise<string>;
  ask(connection: Connection, request: TaskRequest, options: RelayOptions): Promise<FeatureResult>;
}

export function createUpstreamTasks(store: TaskStore, requester: UpstreamRequester): UpstreamTasks {
  async function ask(connection: Connection, request: TaskRequest, options: RelayOptions): Promise<FeatureResult> {
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

  return {
    ask,
    async get(accountId, task, connection, options) {
      const { text, ttlMs: saidMs } = await ask(connection, { method: "tasks/get", taskId: task.upstreamId }, options);
      const ttlMs = keptMs(saidMs);
      const json = toClientTask(text, task.id, ttlMs);
      const isEnd = hasEnded(parseTask(text)) && json.length <= MAX_STORED_LENGTH;
      if (isEnd || ttlMs !== task.ttlMs)
        await store.update(accountId, task.id, { ...task, ttlMs, ...(isEnd && { json, hasEnded: true }) });
      return json;
    },
  };
}
