import { pino } from "pino";
import { expect, test, vi } from "vitest";
import type { SessionTask } from "../../../src/integrations/tasks.ts";
import type { JsonObject } from "../../../src/json.ts";
import { createRunningCalls } from "../../../src/runtime/calls/running-calls.ts";
import { createRelayMessages } from "../../../src/runtime/relay/relay-messages.ts";
import { createAttendedTasks } from "../../../src/runtime/tasks/attended-tasks.ts";
import { MAX_ATTENDED_TASKS, MAX_STORED_LENGTH } from "../../../src/runtime/tasks/task-limits.ts";
import type { TaskState, TaskStore } from "../../../src/runtime/tasks/task-store.ts";

const log = pino({ level: "silent" });
const { signal } = new AbortController();

/** A replica whose store remembers the last state of each task. */
function createWorld() {
  const states = new Map<string, TaskState>();
  const store: TaskStore = {
    add: () => Promise.reject(new Error("unused")),
    find: () => Promise.reject(new Error("unused")),
    update: async (_accountId, id, state) => {
      if (states.get(id)?.hasEnded === true) return false;
      states.set(id, state);
      return true;
    },
    attend: async () => true,
  };
  const relays = createRelayMessages({
    store: { put: async () => {}, take: async () => undefined, withdraw: async () => true, waiting: async () => [] },
    feed: { onChange: () => () => {}, onGap: () => () => {} },
    log,
    takenWithinMs: 10,
  });
  const running = createRunningCalls();
  const attended = createAttendedTasks({ store, relays, running, log });
  let count = 0;
  const attend = (follow: SessionTask["follow"], cancel: SessionTask["cancel"] = async () => {}): string => {
    const id = `t${(count += 1)}`;
    const state = { toolName: "x", upstreamId: "u", address: id, json: "{}", ttlMs: 60_000, hasEnded: false };
    attended.attend({ accountId: "a", connectionId: 1, id, address: id, state, session: { follow, cancel } });
    return id;
  };
  const taskOf = (id: string) => JSON.parse(states.get(id)?.json ?? "{}") as JsonObject;
  const answer = (id: string, inputResponses: JsonObject) => attended.send("a", id, { inputResponses }, signal);
  return { attended, running, attend, states, taskOf, answer };
}

const untilAborted: SessionTask["follow"] = ({ signal: ended }) =>
  new Promise((_resolve, reject) => ended.addEventListener("abort", () => reject(new Error("ended"))));

test("never asks under a key that the task has used before", async () => {
  const { attend, taskOf, answer, attended } = createWorld();
  const question = { method: "elicitation/create", params: {}, key: "1" };
  const id = attend(async ({ ask }) => {
    const first = await ask(question, signal);
    const second = await ask(question, signal);
    return JSON.stringify({ status: "completed", result: { first, second } });
  });
  await vi.waitFor(() => expect(Object.keys(taskOf(id)["inputRequests"] as JsonObject)).toEqual(["1"]));
  expect(taskOf(id)).toMatchObject({ status: "input_required" });
  expect(await answer(id, { "1": { action: "accept" }, "2": {} })).toBe(true);
  await vi.waitFor(() => expect(Object.keys(taskOf(id)["inputRequests"] as JsonObject)).toEqual(["1_"]));
  await answer(id, { "1": { action: "decline" }, "1_": { action: "cancel" } });
  await attended.close();
  expect(taskOf(id)).toMatchObject({
    status: "completed",
    result: { first: { result: { action: "accept" } }, second: { result: { action: "cancel" } } },
  });
  expect(taskOf(id)).not.toHaveProperty("inputRequests");
});

test("a result that is too long makes the task fail", async () => {
  const { attend, taskOf, states, attended } = createWorld();
  const id = attend(async () => JSON.stringify({ status: "completed", result: "x".repeat(MAX_STORED_LENGTH) }));
  await attended.close();
  expect(taskOf(id)).toMatchObject({ status: "failed", error: { message: "The result is longer than 1 MiB." } });
  expect(states.get(id)?.hasEnded).toBe(true);
});

test("a cancellation that the upstream refuses changes nothing", async () => {
  const { attend, states, attended, running } = createWorld();
  const refused = attend(untilAborted, () => Promise.reject(new Error("not supported")));
  const accepted = attend(untilAborted);
  for (const id of [refused, accepted]) expect(await attended.send("a", id, { cancel: true }, signal)).toBe(true);
  await vi.waitFor(() => expect(states.get(accepted)?.json).toContain("cancelled"));
  expect(states.get(refused)?.hasEnded).not.toBe(true);
  running.stop();
  await attended.close();
  expect(states.get(refused)).toMatchObject({ hasEnded: true, json: expect.stringContaining("failed") });
});

test("stops following a task that another replica has ended", async () => {
  const { attend, states, attended } = createWorld();
  const started = Promise.withResolvers<undefined>();
  const goOn = Promise.withResolvers<undefined>();
  const id = attend(async (follower) => {
    started.resolve(undefined);
    await goOn.promise;
    follower.onState('{"status":"working","statusMessage":"late"}');
    return untilAborted(follower);
  });
  await started.promise;
  const end = { toolName: "x", upstreamId: "u", address: id, json: '{"status":"failed"}', ttlMs: 1, hasEnded: true };
  states.set(id, end);
  goOn.resolve(undefined);
  await attended.close();
  expect(states.get(id)).toBe(end);
});

test("an account has room for as many tasks as a replica follows", async () => {
  const { attend, attended, running } = createWorld();
  for (let index = 0; index < MAX_ATTENDED_TASKS; index += 1) {
    expect(attended.hasRoom("a")).toBe(true);
    attend(untilAborted);
  }
  expect(attended.hasRoom("a")).toBe(false);
  expect(attended.hasRoom("b")).toBe(true);
  running.stop();
  await attended.close();
  expect(attended.hasRoom("a")).toBe(true);
});

test("says that nobody follows a task that has ended", async () => {
  const { attend, attended, answer } = createWorld();
  const id = attend(async () => '{"status":"completed"}');
  await attended.close();
  expect(await answer(id, {})).toBe(false);
});
