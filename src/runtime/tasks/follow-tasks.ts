import { setTimeout as sleep } from "node:timers/promises";
import { DomainError } from "../../domain-error.ts";
import type { Principal } from "../../identity/principal.ts";
import type { Notification } from "../../integrations/relay.ts";
import type { RelayedClient } from "../../integrations/relayed-client.ts";
import { hasEnded, parseTask } from "./task-json.ts";
import type { Tasks } from "./tasks.ts";

/** Limits for the milliseconds between two requests for a task, whatever its upstream suggests. */
const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
const DEFAULT_PAUSE_MS = 1_000;

export interface FollowedTasks {
  readonly principal: Principal;
  readonly ids: readonly string[];
  readonly client: RelayedClient;
  readonly onNotification: (notification: Notification) => void;
}

/**
 * Sends `notifications/tasks` with the state of each task, at first and after each change, until it ends. Most servers
 * send no such notifications, so this asks for the tasks one after the other, as often as their upstreams suggest.
 * Returns a function that stops it.
 */
export function followTasks(tasks: Pick<Tasks, "get">, followed: FollowedTasks): () => void {
  const { principal, client, onNotification } = followed;
  const controller = new AbortController();
  const { signal } = controller;
  /** The last state of each task that has not ended. */
  const open = new Map(followed.ids.map((id) => [id, ""]));

  async function look(id: string, before: string): Promise<number> {
    try {
      const json = await tasks.get(principal, id, { client, signal });
      const task = parseTask(json);
      if (json !== before) onNotification({ method: "notifications/tasks", params: task });
      if (hasEnded(task)) open.delete(id);
      else open.set(id, json);
      return typeof task.pollIntervalMs === "number" ? task.pollIntervalMs : DEFAULT_PAUSE_MS;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DomainError && error.kind === "not_found") open.delete(id);
      return MAX_PAUSE_MS;
    }
  }

  async function run(): Promise<void> {
    while (open.size > 0) {
      let pauseMs = MAX_PAUSE_MS;
      for (const [id, before] of [...open]) pauseMs = Math.min(pauseMs, await look(id, before));
      await sleep(Math.max(pauseMs, MIN_PAUSE_MS), undefined, { signal, ref: false });
    }
  }

  // Rejects only after it was stopped.
  run().catch(() => undefined);
  return () => controller.abort();
}
