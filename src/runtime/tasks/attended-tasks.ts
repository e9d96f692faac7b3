import type { ClientAnswer, RelayedClient } from "../../integrations/relayed-client.ts";
import { INTERNAL_ERROR } from "../../integrations/rpc-error.ts";
import type { SessionTask } from "../../integrations/tasks.ts";
import { isJsonObject, parseJson, printJson, type JsonObject } from "../../json.ts";
import { withMembers } from "../../json-text.ts";
import type { WarnLog } from "../../log.ts";
import type { RunningCalls } from "../calls/running-calls.ts";
import { createRelayAddress, type RelayMessages } from "../relay/relay-messages.ts";
import { createTaskQuestions } from "./task-questions.ts";
import { asFailed, toClientTask } from "./task-json.ts";
import { MAX_ATTENDED_TASKS, MAX_STORED_LENGTH } from "./task-limits.ts";
import type { TaskState, TaskStore } from "./task-store.ts";

/**
 * How often a replica records that it follows a task: well below the time after which the store counts a task as
 * abandoned.
 */
const ATTEND_EVERY_MS = 20_000;
const CANCEL_TIMEOUT_MS = 10_000;
const MAX_DEPTH = 64;

/** A task in an upstream session of this replica. */
export interface AttendedTask {
  readonly accountId: string;
  readonly connectionId: number;
  readonly id: string;
  readonly address: string;
  readonly state: TaskState;
  readonly session: SessionTask;
}

/** A message of another replica to the replica that follows a task. */
export type TaskMessage = { readonly inputResponses: JsonObject } | { readonly cancel: true };

/**
 * Tasks of upstreams with sessions. The replica that made the call follows its task and stores every state, so that any
 * replica can return it; the client's answers and its cancellation come to it as messages.
 */
export interface AttendedTasks {
  /** Whether the account may have another such task on this replica. */
  hasRoom(accountId: string): boolean;
  /** Follows a stored task until it ends. */
  attend(task: AttendedTask): void;
  /** Resolves when the replica of a task has acted on a message; with false if there is no such replica. */
  send(accountId: string, address: string, message: TaskMessage, signal: AbortSignal): Promise<boolean>;
  /** Waits until the last states are stored. */
  close(): Promise<void>;
}

export interface AttendedTasksDeps {
  readonly store: TaskStore;
  readonly relays: RelayMessages;
  readonly running: RunningCalls;
  readonly log: WarnLog;
}

export function createAttendedTasks({ store, relays, running, log }: AttendedTasksDeps): AttendedTasks {
  const counts = new Map<string, number>();
  const following = new Set<Promise<void>>();

  async function follow({ accountId, connectionId, id, address, state, session }: AttendedTask): Promise<void> {
    const controller = new AbortController();
    let json = state.json;
    let isOver = false;
    let saving = Promise.resolve();
    const save = (hasEnded: boolean): Promise<void> => {
      if (isOver) return saving;
      isOver = hasEnded;
      const text = hasEnded ? json : questions.mark(json);
      if (text.length > MAX_STORED_LENGTH) {
        controller.abort(new Error("What the task asks is longer than 1 MiB."));
        return saving;
      }
      saving = saving.then(async () => {
        try {
          const isStored = await store.update(accountId, id, { ...state, json: text, hasEnded });
          if (!isStored && !hasEnded) controller.abort(taskLost());
        } catch (error) {
          log.warn({ err: error, connectionId }, "could not store the state of a task");
        }
      });
      return saving;
    };
    const questions = createTaskQuestions(controller.signal, () => void save(false));
    const setState = (said: string): void => {
      const next = toClientTask(said, id, state.ttlMs);
      if (next === json) return;
      json = next;
      void save(false);
    };

    async function act(message: JsonObject): Promise<void> {
      if (isJsonObject(message.inputResponses)) {
        questions.answer(message.inputResponses);
        await save(false);
      } else if (message.cancel === true) {
        // A server may refuse the cancellation; then the task continues.
        const isCanceled = await session.cancel(AbortSignal.timeout(CANCEL_TIMEOUT_MS)).then(
          () => true,
          () => false,
        );
        if (isCanceled) controller.abort(new TaskCanceled());
      }
    }
    const stop = relays.receive(accountId, address, (text) => {
      const message = parseJson(text, { maxDepth: MAX_DEPTH + 3 });
      if (!isJsonObject(message)) return;
      void act(message).then(() => {
        const { replyTo } = message;
        if (typeof replyTo === "string") relays.send(accountId, replyTo, "{}").catch(() => undefined);
      });
    });
    const heartbeat = setInterval(() => {
      store.attend(accountId, id).then(
        // Another replica deleted the connection, or found the task abandoned.
        (isOpen) => !isOpen && controller.abort(taskLost()),
        () => undefined,
      );
    }, ATTEND_EVERY_MS).unref();

    const times = { idleMs: state.ttlMs, maxMs: state.ttlMs };
    const ask: RelayedClient["ask"] = (request, signal): Promise<ClientAnswer> => questions.ask(request, signal);
    const outcome = await running.run(controller, connectionId, times, (signal) =>
      session.follow({ ask, onState: setState, signal }),
    );
    stop();
    clearInterval(heartbeat);
    if (outcome.kind === "done") json = toClientTask(outcome.result, id, state.ttlMs);
    else if (outcome.kind === "cancelled" && outcome.reason instanceof TaskCanceled)
      json = withMembers(json, { status: '"cancelled"', lastUpdatedAt: JSON.stringify(new Date().toISOString()) });
    else json = asFailed(json, { code: INTERNAL_ERROR, message: reasonOf(outcome) });
    if (json.length > MAX_STORED_LENGTH)
      json = asFailed(state.json, { code: INTERNAL_ERROR, message: "The result is longer than 1 MiB." });
    if (outcome.kind === "timed_out")
      void session.cancel(AbortSignal.timeout(CANCEL_TIMEOUT_MS)).catch(() => undefined);
    await save(true);
  }

  return {
    hasRoom: (accountId) => (counts.get(accountId) ?? 0) < MAX_ATTENDED_TASKS,

    attend(task) {
      const { accountId } = task;
      counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
      const followed = follow(task).finally(() => {
        following.delete(followed);
        const left = (counts.get(accountId) ?? 1) - 1;
        if (left > 0) counts.set(accountId, left);
        else counts.delete(accountId);
      });
      following.add(followed);
    },

    async send(accountId, address, message, signal) {
      const replyTo = createRelayAddress();
      const { promise, resolve, reject } = Promise.withResolvers<undefined>();
      const stop = relays.receive(accountId, replyTo, () => resolve(undefined));
      const leave = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error("The client left."));
      signal.addEventListener("abort", leave, { once: true });
      try {
        if (!(await relays.send(accountId, address, printJson({ ...message, replyTo })))) return false;
        await promise;
        return true;
      } finally {
        stop();
        signal.removeEventListener("abort", leave);
      }
    },

    async close() {
      await Promise.all(following);
    },
  };
}

function taskLost(): Error {
  return new Error("The task is gone.");
}

class TaskCanceled extends Error {
  constructor() {
    super("The client canceled the task.");
    this.name = "TaskCanceled";
  }
}

function reasonOf(outcome: { readonly kind: string; readonly error?: unknown; readonly reason?: unknown }): string {
  const { kind, error, reason } = outcome;
  if (kind === "timed_out") return "The task did not end within its time to live.";
  const cause = error ?? reason;
  return cause instanceof Error ? cause.message : "The task was lost.";
}
