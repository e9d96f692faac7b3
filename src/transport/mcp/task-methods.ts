import { TASKS_CAPABILITY, TASKS_EXTENSION } from "../../integrations/tasks.ts";
import { isJsonObject } from "../../json.ts";
import type { Tasks } from "../../runtime/tasks/tasks.ts";
import type { RelayOptions } from "../../runtime/upstream/upstream-features.ts";
import { invalidParams, methodNotFound, requiredText, type RpcCall, type RpcMethod } from "./methods.ts";
import { type RpcResult, toResult } from "./result.ts";
import { CODES, RpcFault } from "./rpc-fault.ts";

/** The methods of the tasks extension (SEP-2663), for clients of 2026-07-28 that declare it. */
export function createTaskMethods(tasks: Tasks): ReadonlyMap<string, RpcMethod> {
  const method = (
    name: string,
    answer: (call: RpcCall, taskId: string, options: RelayOptions) => Promise<RpcResult>,
  ): readonly [string, RpcMethod] => [
    name,
    async (call) => {
      const { session, params, relay, controller, onSent } = call;
      if (session !== undefined) throw methodNotFound(name);
      if (!call.declares(TASKS_CAPABILITY)) throw tasksNotDeclared();
      return answer(call, requiredText(params, "taskId"), { ...relay, signal: controller.signal, onSent });
    },
  ];
  return new Map([
    method("tasks/get", async ({ principal }, taskId, options) => ({
      text: await tasks.get(principal, taskId, options),
      ttlMs: undefined,
    })),
    method("tasks/update", async ({ principal, params }, taskId, options) => {
      const { inputResponses } = params;
      if (!isJsonObject(inputResponses)) throw invalidParams("inputResponses must be an object.");
      await tasks.update(principal, taskId, inputResponses, options);
      return toResult({});
    }),
    method("tasks/cancel", async ({ principal }, taskId, options) => {
      await tasks.cancel(principal, taskId, options);
      return toResult({});
    }),
  ]);
}

/** The error for a client that uses tasks without declaring them. */
export function tasksNotDeclared(): RpcFault {
  return new RpcFault(CODES.missingCapability, `The client must declare the extension ${TASKS_EXTENSION}.`, {
    httpStatus: 400,
    data: { requiredCapabilities: TASKS_CAPABILITY },
  });
}
