import { expect, test } from "vitest";
import { createHeaderDigest } from "../../src/identity/tokens/header-digest.ts";

test("different headers have different digests, whatever the connection sent before", () => {
  const digest = createHeaderDigest();
  const [one, another] = [{}, {}];
  const fresh = (header: string) => createHeaderDigest()(header, undefined);
  for (const [header, connection] of [
    ["Bearer a", one],
    ["Bearer a", one],
    ["Bearer b", one],
    ["Bearer a", another],
    ["Bearer b", one],
    ["Bearer a", one],
    ["Bearer ab", one],
    ["Bearer a", undefined],
  ] as const) {
    expect(digest(header, connection)).toBe(fresh(header));
  }
  expect(fresh("Bearer a")).not.toBe(fresh("Bearer b"));
});
