import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Integration } from "../../../src/integrations/integration.ts";
import { createWorld, principal, toolNamed, type World } from "../world.ts";

const TOOLS = [toolNamed("get_thing")];

/** Connections share one tool list, which is loaded at each use. */
const shared: Integration = {
  serverType: "shared",
  title: "Shared",
  description: "",
  configurationSchema: { type: "object" },
  secretProperties: [],
  credentialProperty: undefined,
  destinationProperties: [],
  toolSource: "shared",
  listTools: () => Promise.resolve(TOOLS),
  callTool: () => Promise.resolve({ content: [{ type: "text", text: "done" }], isError: false }),
  verify: () => Promise.resolve({ outcome: "verified" }),
};

let world: World;
beforeAll(async () => {
  world = await createWorld({ integrations: [shared] });
});
afterAll(() => world.close());

test("tools shared by connections stay callable after the wait for the first list", async () => {
  const me = principal(await world.createAccount());
  await world.connectTo("shared", me.accountId, {});
  const session = await world.open(me);
  expect(await world.call(me, session, "get_thing")).toBe("done");
  // Longer than a call waits for the first list of a connection.
  await sleep(2_100);
  expect(await world.call(me, session, "get_thing")).toBe("done");
  expect(await world.names(me, session)).toEqual(["get_thing"]);
});
