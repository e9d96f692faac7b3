import type { Principal } from "../../identity/principal.ts";
import type { Notification } from "../../integrations/relay.ts";
import { TASKS_CAPABILITY } from "../../integrations/tasks.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { followTasks } from "../../runtime/tasks/follow-tasks.ts";
import type { Tasks } from "../../runtime/tasks/tasks.ts";
import { declaresAll, type Envelope } from "./envelope.ts";
import { invalidParams } from "./methods.ts";
import { createModernClient } from "./request-input.ts";
import { tasksNotDeclared } from "./task-methods.ts";

const MAX_TASK_IDS = 100;

/** The tasks that a `subscriptions/listen` accepts. */
export interface TaskSubscription {
  /** The tasks in the accepted filter of the response. */
  readonly accepted: JsonObject;
  /** Sends the states of the tasks until the returned function is called. */
  readonly follow: ((send: (notification: Notification) => void) => () => void) | undefined;
}

/**
 * Accepts those of the requested `taskIds` that are known. Throws RpcFault for a client that does not declare tasks.
 */
export async function acceptTasks(
  tasks: Tasks,
  principal: Principal,
  { capabilities }: Envelope,
  wanted: JsonValue | undefined,
): Promise<TaskSubscription> {
  if (!Array.isArray(wanted) || wanted.length === 0) return { accepted: {}, follow: undefined };
  if (!declaresAll(capabilities, TASKS_CAPABILITY)) throw tasksNotDeclared();
  const all = [...new Set(wanted.filter((id) => typeof id === "string"))];
  if (all.length > MAX_TASK_IDS) throw invalidParams(`At most ${MAX_TASK_IDS} tasks can be subscribed to.`);
  const ids: string[] = [];
  // One after the other, so that a request takes one connection of the database pool at a time.
  for (const id of all) if (await tasks.has(principal, id)) ids.push(id);
  if (ids.length === 0) return { accepted: {}, follow: undefined };
  const stateful = { principal, method: "tasks/get", params: {} };
  const client = createModernClient(stateful, capabilities, { responses: undefined, state: undefined }, () =>
    Promise.reject(new Error("A subscription has no client to ask.")),
  );
  return {
    accepted: { taskIds: ids },
    follow: (onNotification) => followTasks(tasks, { principal, ids, client, onNotification }),
  };
}
