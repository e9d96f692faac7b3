import { expect, test } from "vitest";
import { checkReceiver, type LookUpAddresses } from "../../src/outbound/check-receiver.ts";
import { FORBIDDEN, REBINDING } from "./forbidden.ts";

const leadsTo =
  (...addresses: readonly string[]): LookUpAddresses =>
  () =>
    Promise.resolve(addresses.map((address) => ({ address })));

test.each(FORBIDDEN)("refuses %s (%s)", async (_form, host, reason) => {
  expect(await checkReceiver(`https://${host}/`, [], leadsTo())).toMatch(reason);
});

test.each(REBINDING)("refuses a name that resolves to %s", async (_form, addresses) => {
  expect(await checkReceiver("https://hooks.example.com/", [], leadsTo(...addresses))).toMatch(
    /^Calls to hooks\.example\.com:443 are refused because its name leads to /,
  );
});

test("accepts a name with public addresses, and one that cannot be resolved now", async () => {
  expect(await checkReceiver("https://hooks.example.com/", [], leadsTo("93.184.216.34"))).toBeUndefined();
  const fails: LookUpAddresses = () => Promise.reject(new Error("no such name"));
  expect(await checkReceiver("https://hooks.example.com/", [], fails)).toBeUndefined();
});

test("accepts a private host that the operator allows, without resolving it", async () => {
  const unused: LookUpAddresses = () => Promise.reject(new Error("must not be called"));
  expect(await checkReceiver("http://hooks.internal:8080/", ["hooks.internal:8080"], unused)).toBeUndefined();
});
