import { pino } from "pino";
import { expect, test } from "vitest";
import { runSteps } from "../src/sweep.ts";

test("a step of the sweep that throws is logged by name and does not stop the others", async () => {
  const lines: unknown[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const ran: string[] = [];
  await runSteps(
    {
      first: () => Promise.reject(new Error("no database")),
      second: () => {
        throw new Error("no memory");
      },
      third: () => Promise.resolve(ran.push("third")),
    },
    log,
  );
  expect(ran).toEqual(["third"]);
  expect(lines).toMatchObject([
    { step: "first", err: { message: "no database" } },
    { step: "second", err: { message: "no memory" } },
  ]);
});
