import { expect, test } from "vitest";
import { createCallSlots } from "../../../src/runtime/calls/call-slots.ts";

const connection = (accountId: string, id: number) => ({ accountId, id, name: `Connection ${id}` });

test("lets an account run as many calls as slots remain free, so that another account can always start one", () => {
  const slots = createCallSlots(64, 100, 8);
  for (let call = 0; call < 4; call += 1) expect(slots.take(connection("a", 1))).toBeUndefined();
  expect(slots.take(connection("a", 1))).toContain("has its share");
  for (let call = 0; call < 2; call += 1) expect(slots.take(connection("b", 2))).toBeUndefined();
  expect(slots.take(connection("b", 2))).toContain("has its share");
  expect(slots.take(connection("c", 3))).toBeUndefined();
  slots.release(connection("a", 1));
  expect(slots.take(connection("b", 2))).toContain("has its share");
  slots.release(connection("a", 1));
  expect(slots.take(connection("b", 2))).toBeUndefined();
});

test("limits upstream calls to 64 per connection and 100 per account, independent of other accounts", () => {
  const slots = createCallSlots();
  const [first, second, foreign] = [connection("a", 1), connection("a", 2), connection("b", 3)];
  for (let call = 0; call < 64; call += 1) expect(slots.take(first)).toBeUndefined();
  expect(slots.take(first)).toBe(
    'Too many calls are in flight: the connection "Connection 1" is limited to 64. Wait for one to finish, then try again.',
  );
  for (let call = 0; call < 36; call += 1) expect(slots.take(second)).toBeUndefined();
  expect(slots.take(second)).toBe(
    "Too many calls are in flight: the account is limited to 100. Wait for one to finish, then try again.",
  );
  expect(slots.take(foreign)).toBeUndefined();
  slots.release(first);
  expect(slots.take(second)).toBeUndefined();
  expect(slots.take(first)).toContain("the account");
});
