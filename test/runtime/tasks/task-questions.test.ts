import { expect, test } from "vitest";
import { createTaskQuestions } from "../../../src/runtime/tasks/task-questions.ts";

const question = { method: "elicitation/create", params: {}, key: "1" };

test("a task asks at most 200 questions, however soon it cancels them", async () => {
  const questions = createTaskQuestions(new AbortController().signal, () => undefined);
  for (let asked = 0; asked < 200; asked += 1) {
    const cancel = new AbortController();
    const answer = questions.ask(question, cancel.signal);
    cancel.abort();
    await expect(answer).rejects.toThrow("needs no answer");
  }
  await expect(questions.ask(question, new AbortController().signal)).rejects.toThrow("at most 200 questions");
});

test("a question with an overlong key is refused", async () => {
  const questions = createTaskQuestions(new AbortController().signal, () => undefined);
  const overlong = { ...question, key: "k".repeat(257) };
  await expect(questions.ask(overlong, new AbortController().signal)).rejects.toThrow("keys of 256 characters");
});
