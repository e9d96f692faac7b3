import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OPERATOR } from "../../../src/identity/actor.ts";
import type { Principal } from "../../../src/identity/principal.ts";
import type { JsonObject } from "../../../src/json.ts";
import { createWorld, eventually, principal, textOf, type World } from "../world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const META = ["call_tool", "find_tools"];

/** Names of 120 tools, which get fruit or cook vegetables. */
const MANY = Array.from({ length: 60 }, (_, index) => [`get_fruit_${index}`, `cook_vegetable_${index}`]).flat();

interface Found {
  readonly tools: readonly { readonly name: string; readonly connection: string; readonly inputSchema: JsonObject }[];
  readonly total_count: number;
}

async function decide(accountId: string, toolSearch: boolean): Promise<void> {
  await world.settingsStore.save(accountId, { toolSearch }, OPERATOR);
  await eventually(async () => (await world.settings.of(accountId)).toolSearch === toolSearch);
}

/** Creates an account with tool search enabled and many tools on one connection. */
async function searching(tools: readonly string[] = MANY) {
  const account = await world.createAccount();
  const connection = await world.connect(account, tools);
  await decide(account, true);
  const me = principal(account);
  return { account, connection, me, session: await world.open(me) };
}

async function find(who: Principal, session: string, args: JsonObject): Promise<Found> {
  const result = await world.runtime.callTool(who, session, "find_tools", args, {});
  expect(result.isError, textOf(result)).toBe(false);
  if (result.structuredContent?.total_count !== 0) {
    expect(JSON.parse(textOf(result))).toEqual(result.structuredContent);
  }
  return result.structuredContent as unknown as Found;
}

describe("tool search mode", () => {
  test("lists only find_tools and call_tool instead of more than 100 tools", async () => {
    const { me, session } = await searching();
    expect(await world.names(me, session)).toEqual(META);
  });

  test("is off unless the account enabled it", async () => {
    const account = await world.createAccount();
    await world.connect(account, MANY);
    const session = await world.open(principal(account));
    expect(await world.names(principal(account), session)).toHaveLength(120);
    await expect(world.call(principal(account), session, "find_tools", { query: "fruit" })).rejects.toThrow(
      'Unknown tool "find_tools"',
    );
  });

  test("does not apply to 100 tools or fewer", async () => {
    const { me, session } = await searching(MANY.slice(0, 100));
    expect(await world.names(me, session)).toHaveLength(100);
    await expect(world.call(me, session, "call_tool", { name: "get_fruit_0" })).rejects.toThrow("Unknown tool");
  });

  test("counts only tools that the principal may use: a read-only token sees all 60 reading tools", async () => {
    const { account, session } = await searching();
    const reader = principal(account, { scopes: ["mcp.read"] });
    expect(await world.names(reader, session)).toHaveLength(60);
  });

  test("applies on every replica after the setting changes, and notifies listeners", async () => {
    const account = await world.createAccount();
    await world.connect(account, MANY);
    const me = principal(account);
    const other = await world.createReplica();
    const session = await world.open(me);
    expect(await world.names(me, session)).toHaveLength(120);
    expect((await other.runtime.listTools(me, session, undefined)).tools).toHaveLength(120);
    const heard: string[] = [];
    const before = await other.toolChanges.digest(me, undefined);
    const stop = other.toolChanges.watch(
      { principal: me, session: () => undefined, onChange: (d) => heard.push(d) },
      before,
    );
    for (const wanted of [true, false]) {
      await world.settingsStore.save(account, { toolSearch: wanted }, OPERATOR);
      const count = wanted ? 2 : 120;
      await eventually(async () => (await world.names(me, session)).length === count);
      await eventually(async () => (await other.runtime.listTools(me, session, undefined)).tools.length === count);
      await eventually(() => heard.length === (wanted ? 1 : 2));
    }
    stop();
    expect(heard[1]).toBe(before);
  });
});

describe("find_tools", () => {
  test("returns the best matches with their names and schemas", async () => {
    const { me, session } = await searching([...MANY, "get_weather"]);
    const { tools, total_count } = await find(me, session, { query: "what is the weather like" });
    expect(total_count).toBe(1);
    expect(tools).toEqual([
      {
        name: "get_weather",
        description: "does get_weather",
        inputSchema: { type: "object", properties: { text: { type: "string" } } },
        readOnly: true,
        connection: "Acme",
      },
    ]);
  });

  test("returns ten tools by default and the total count", async () => {
    const { me, session } = await searching();
    const some = await find(me, session, { query: "fruit" });
    expect([some.tools.length, some.total_count]).toEqual([10, 60]);
    expect((await find(me, session, { query: "fruit", limit: 50 })).tools).toHaveLength(50);
  });

  test("returns only tools that the principal may use", async () => {
    const names = [...MANY, ...Array.from({ length: 60 }, (_, index) => `get_nut_${index}`)];
    const { account, session } = await searching(names);
    const reader = principal(account, { scopes: ["mcp.read"] });
    expect(await find(reader, session, { query: "cook vegetable" })).toEqual({ tools: [], total_count: 0 });
  });

  test("returns a text when nothing matches", async () => {
    const { me, session } = await searching();
    expect(await world.call(me, session, "find_tools", { query: "xylophone" })).toMatch(/^No tool matches/);
  });

  test.each([
    [{}, /query/],
    [{ query: "" }, /query/],
    [{ query: "x".repeat(201) }, /query/],
    [{ query: "fruit", limit: 51 }, /limit/],
    [{ query: 7 }, /query/],
  ])("explains why %j is rejected", async (args, said) => {
    const { me, session } = await searching();
    const text = await world.call(me, session, "find_tools", args);
    expect(text).toMatch(/^error: The arguments do not fit the tool's schema\./);
    expect(text).toMatch(said);
  });

  test("returns qualified names for shared tool names, and a returned name keeps its connection", async () => {
    const { account, me, connection, session } = await searching();
    const [only] = (await find(me, session, { query: "cook vegetable 7", limit: 1 })).tools;
    expect(only?.name).toBe("cook_vegetable_7");
    const second = await world.connect(account, ["cook_vegetable_7", "cook_vegetable_8"]);
    const names = (await find(me, session, { query: "cook vegetable 7", limit: 2 })).tools.map(({ name }) => name);
    expect(names).toEqual([`${connection.alias}__cook_vegetable_7`, `${second.alias}__cook_vegetable_7`]);
    await world.change(connection, { agentEnabled: false });
    await world.connect(account, MANY.slice(20));
    // The session knows the bare name as a tool of the first connection.
    const [again] = (await find(me, session, { query: "cook vegetable 7", limit: 1 })).tools;
    expect(again?.name).toBe(`${second.alias}__cook_vegetable_7`);
  });
});

describe("call_tool", () => {
  test("calls the named tool and records it under the tool's own name", async () => {
    const { me, account, connection, session } = await searching();
    const text = await world.call(me, session, "call_tool", { name: "cook_vegetable_3", arguments: { text: "soup" } });
    expect(text).toBe(`cook_vegetable_3 of ${connection.id}`);
    expect(world.party.received.at(-1)).toMatchObject({ tool: "cook_vegetable_3", args: { text: "soup" } });
    await world.history.flush();
    const { rows } = await world.pool.query("select tool_name, outcome from call_record where account_id = $1", [
      account,
    ]);
    expect(rows).toEqual([{ tool_name: "cook_vegetable_3", outcome: "ok" }]);
  });

  test("validates the inner arguments with the schema of the named tool", async () => {
    const { me, session } = await searching();
    const sent = world.party.received.length;
    const text = await world.call(me, session, "call_tool", { name: "get_fruit_1", arguments: { text: 7 } });
    expect(text).toBe(await world.call(me, session, "get_fruit_1", { text: 7 }));
    expect(text).toMatch(/^error: The arguments do not fit/);
    expect(world.party.received).toHaveLength(sent);
  });

  test("rejects tools that the principal may not use and refers to find_tools", async () => {
    const names = [...MANY, ...Array.from({ length: 60 }, (_, index) => `get_nut_${index}`)];
    const { account, session } = await searching(names);
    const reader = principal(account, { scopes: ["mcp.read"] });
    const sent = world.party.received.length;
    const text = await world.call(reader, session, "call_tool", { name: "cook_vegetable_1" });
    expect(text).toMatch(/^error: Unknown tool "cook_vegetable_1".*find_tools/);
    expect(world.party.received).toHaveLength(sent);
  });

  test.each([
    [{}, /name/],
    [{ name: "get_fruit_1", arguments: [1] }, /arguments/],
    [{ name: "get_fruit_1", args: {} }, /args/],
    [{ name: "call_tool", arguments: { name: "get_fruit_1" } }, /cannot be called through/],
    [{ name: "find_tools", arguments: { query: "fruit" } }, /cannot be called through/],
  ])("explains why %j is rejected", async (args, said) => {
    const { me, session } = await searching();
    expect(await world.call(me, session, "call_tool", args as JsonObject)).toMatch(said);
  });

  test("is rejected when its session has ended", async () => {
    const { me, session } = await searching();
    await world.sessions.end(me, session);
    await expect(world.call(me, session, "call_tool", { name: "get_fruit_1" })).rejects.toMatchObject({
      kind: "not_found",
    });
  });
});

test("every tool can still be called by name", async () => {
  const { me, connection, session } = await searching();
  expect(await world.call(me, session, "get_fruit_5")).toBe(`get_fruit_5 of ${connection.id}`);
});

test("an upstream tool named find_tools is found and called by its qualified name only", async () => {
  const { me, connection, session } = await searching([...MANY, "find_tools", "call_tool"]);
  const { tools } = await find(me, session, { query: "find_tools", limit: 1 });
  const name = `find_tools__${connection.id}`;
  expect(tools[0]?.name).toBe(name);
  expect(await world.call(me, session, name)).toBe(`find_tools of ${connection.id}`);
  expect(await world.call(me, session, "call_tool", { name })).toBe(`find_tools of ${connection.id}`);
});
