import { expect, test } from "vitest";
import { type HostRow, printMatrix } from "./matrix.ts";
import { type Step, STEPS } from "./story.ts";

const COLUMNS = [
  { upstream: "server", lacks: {} },
  { upstream: "api", lacks: { input: { word: "none", evidence: "An API asks nothing." } } },
];

/** A client that cannot cancel. Its results are `yes`, except for the given ones. */
function row(changes: Partial<Record<Step, string | undefined>> = {}): HostRow {
  const lacks = { cancel: { word: "silent", evidence: "It sends no notification." } };
  const results = COLUMNS.flatMap(({ upstream }) =>
    STEPS.flatMap((step) => {
      const known = step === "cancel" || (upstream === "api" && step === "input") ? undefined : "yes";
      const result = Object.hasOwn(changes, step) ? changes[step] : known;
      return result === undefined ? [] : [{ upstream, step, result }];
    }),
  );
  return { program: { name: "client", version: "1.0", lacks }, results };
}

test("prints a word with its evidence for what a client or an upstream cannot do", () => {
  const { table, faults } = printMatrix([row()], COLUMNS);
  expect(faults).toEqual([]);
  expect(table).toContain("| client 1.0 | server | yes | yes | yes | silent | yes |");
  expect(table).toContain("| client 1.0 | api | yes | yes | yes | silent | none |");
  expect(table).toContain("- client 1.0, cancel: silent. It sends no notification.");
  expect(table).toContain("- api, input: none. An API asks nothing.");
});

test.each<[string, Partial<Record<Step, string | undefined>>, string]>([
  ["a step without a result", { call: undefined }, "client, server, call: no result"],
  ["a step that went wrong", { progress: "no notification" }, "client, server, progress: no notification"],
  ["a step that is said to be impossible and works", { cancel: "yes" }, "client, server, cancel: yes, although"],
])("reports %s", (_title, changes, expected) => {
  const { faults } = printMatrix([row(changes)], COLUMNS);
  expect(faults[0]).toContain(expected);
});
