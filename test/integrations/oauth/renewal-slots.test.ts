import { expect, test } from "vitest";
import { createRenewalSlots } from "../../../src/integrations/oauth/renewal-slots.ts";

test("a slow server uses only its own slots, and waiting renewals run in order", async () => {
  const slots = createRenewalSlots({ total: 3, perServer: 2 });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (server: string, name: string) =>
    slots.run(server, async () => {
      started.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const all = [work("slow", "a"), work("slow", "b"), work("slow", "c"), work("slow", "d"), work("quick", "e")];
  const late = work("quick", "f");
  await settle();
  expect(started).toEqual(["a", "b", "e"]);
  ends.get("e")?.();
  await settle();
  expect(started).toEqual(["a", "b", "e", "f"]);
  ends.get("a")?.();
  await settle();
  expect(started).toEqual(["a", "b", "e", "f", "c"]);
  for (const name of ["b", "f", "c"]) ends.get(name)?.();
  await settle();
  ends.get("d")?.();
  await Promise.all([...all, late]);
});

test("failed work releases its slot", async () => {
  const slots = createRenewalSlots({ total: 1, perServer: 1 });
  await expect(slots.run("one", () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  expect(await slots.run("one", () => Promise.resolve("done"))).toBe("done");
});
