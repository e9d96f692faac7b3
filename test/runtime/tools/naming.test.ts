import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createWorld, principal, type World } from "../world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

describe("tool names within a session", () => {
  it("are bare while only one connection has them, and qualified when several do", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    const a = await world.connect(account, ["echo", "get_a"]);
    const session = await world.open(me);
    expect(await world.names(me, session)).toEqual(["echo", "get_a"]);
    const b = await world.connect(account, ["echo", "get_b"]);
    expect(await world.names(me, session)).toEqual(
      [`${a.alias}__echo`, `${b.alias}__echo`, "get_a", "get_b"].toSorted(),
    );
    for (const { alias, id } of [a, b]) expect(await world.call(me, session, `${alias}__echo`)).toBe(`echo of ${id}`);
  });

  it("return the qualified names for an ambiguous call", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    const a = await world.connect(account, ["echo"]);
    const b = await world.connect(account, ["echo"]);
    const session = await world.open(me);
    const answer = await world.call(me, session, "echo");
    expect(answer).toContain("error: ");
    expect(answer).toContain(`${a.alias}__echo (connection "${a.name}")`);
    expect(answer).toContain(`${b.alias}__echo (connection "${b.name}")`);
    expect(await world.call(me, session, `echo__${b.id}`)).toBe(`echo of ${b.id}`);
  });

  it("resolve in qualified form even if listed bare", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    const a = await world.connect(account, ["echo"]);
    expect(await world.call(me, await world.open(me), `echo__${a.id}`)).toBe(`echo of ${a.id}`);
  });

  it.each(["listed", "called"])("keep their connection once %s", async (how) => {
    const account = await world.createAccount();
    const me = principal(account);
    const a = await world.connect(account, ["echo"]);
    const session = await world.open(me);
    if (how === "listed") await world.names(me, session);
    else await world.call(me, session, "echo");
    const b = await world.connect(account, ["echo"]);
    const off = await world.change(a, { agentEnabled: false });

    expect(await world.names(me, session)).toEqual([`${b.alias}__echo`]);
    await expect(world.call(me, session, "echo")).rejects.toMatchObject({
      kind: "not_found",
      message: expect.stringContaining(`${b.alias}__echo`) as string,
    });
    expect(await world.call(me, session, `echo__${b.id}`)).toBe(`echo of ${b.id}`);
    const other = await world.open(me);
    expect(await world.names(me, other)).toEqual(["echo"]);
    expect(await world.call(me, other, "echo")).toBe(`echo of ${b.id}`);

    await world.change(await world.change(off, { agentEnabled: true }), {});
    expect(await world.names(me, session)).toEqual([`${a.alias}__echo`, `${b.alias}__echo`].toSorted());
  });

  it("keep the connection of an alias, also when owners exchange aliases", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    const a = await world.connect(account, ["echo"]);
    const b = await world.connect(account, ["echo"]);
    const session = await world.open(me);
    await world.names(me, session);
    const free = await world.change(a, { alias: "elsewhere" });
    await world.change(b, { alias: a.alias });
    await world.change(free, { alias: b.alias });
    expect(await world.names(me, session)).toEqual([`echo__${a.id}`, `echo__${b.id}`].toSorted());
    await expect(world.call(me, session, `${a.alias}__echo`)).rejects.toMatchObject({ kind: "not_found" });
    expect(await world.call(me, session, `echo__${b.id}`)).toBe(`echo of ${b.id}`);
    const other = await world.open(me);
    expect(await world.call(me, other, `${a.alias}__echo`)).toBe(`echo of ${b.id}`);
  });

  it("say in the description which account a qualified tool belongs to", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    const a = await world.connect(account, ["echo", "get_a"]);
    await world.connect(account, ["echo"]);
    const { tools } = await world.runtime.listTools(me, await world.open(me), undefined);
    expect(tools.find(({ name }) => name === `${a.alias}__echo`)?.account).toBe(a.name);
    expect(tools.find(({ name }) => name === "get_a")).not.toHaveProperty("account");
  });

  it("refer to the same connection on every replica", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    const a = await world.connect(account, ["echo"]);
    const session = await world.open(me);
    const elsewhere = await world.createReplica();
    await world.names(me, session);
    await elsewhere.runtime.listTools(me, session, undefined);
    const b = await world.connect(account, ["echo"]);
    await world.change(a, { agentEnabled: false });
    await expect
      .poll(async () => (await elsewhere.runtime.listTools(me, session, undefined)).tools.map(({ name }) => name))
      .toEqual([`${b.alias}__echo`]);
    await expect(elsewhere.runtime.callTool(me, session, "echo", {}, {})).rejects.toMatchObject({ kind: "not_found" });
  });

  it("cannot imitate the qualified name of another connection", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    const victim = await world.connect(account, ["pay"]);
    const posing = await world.connect(account, [`pay__${victim.id}`]);
    const imitation = new RegExp(`^${posing.alias}__pay__${victim.id}_[0-9a-f]{8}$`);
    const session = await world.open(me);
    expect(await world.names(me, session)).toEqual(["pay", expect.stringMatching(imitation)].toSorted());
    expect(await world.call(me, session, `pay__${victim.id}`)).toBe(`pay of ${victim.id}`);
    await world.change(victim, { agentEnabled: false });
    expect(await world.call(me, session, `pay__${victim.id}`)).toContain(`${posing.alias}__pay__`);
    expect(world.party.received.some(({ connectionId }) => connectionId === posing.id)).toBe(false);
  });

  it("of any length are listed within 50 characters and resolve as listed, in full and qualified", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    const long = "a_tool_with_a_name_".repeat(8);
    const a = await world.connect(account, [long, "get_x"]);
    const session = await world.open(me);
    const [listed = ""] = await world.names(me, session);
    expect(listed).toMatch(/^a_tool_.{34}_[0-9a-f]{8}$/);
    for (const name of [listed, long, `${listed}__${a.id}`, `${long}__${a.id}`]) {
      expect(await world.call(me, session, name)).toBe(`${long} of ${a.id}`);
    }
    const b = await world.connect(account, [long]);
    const both = await world.names(me, session);
    expect(both).toHaveLength(3);
    for (const name of both) expect(name.length).toBeLessThanOrEqual(50);
    for (const { id, alias } of [a, b]) {
      const mine = both.find((name) => name.startsWith(`${alias}__`)) ?? "";
      expect(await world.call(me, session, mine)).toBe(`${long} of ${id}`);
      expect(await world.call(me, session, `${long}__${id}`)).toBe(`${long} of ${id}`);
    }
  });

  it("are unique, sorted and callable for arbitrary upstream names", async () => {
    const upstreamName = fc.oneof(
      fc.constantFrom(
        "echo",
        "echo__1",
        "echo__2",
        "get",
        "e".repeat(64),
        "e".repeat(80),
        `${"e".repeat(55)}_0123abcd`,
      ),
      fc.string({ minLength: 1, maxLength: 80 }),
    );
    const tools = fc.uniqueArray(upstreamName, { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.array(tools, { minLength: 1, maxLength: 3 }), async (upstreams) => {
        const account = await world.createAccount();
        const me = principal(account);
        const connections = [];
        for (const upstream of upstreams) connections.push(await world.connect(account, upstream));
        const session = await world.open(me);
        const listed = await world.names(me, session);
        expect(listed).toHaveLength(upstreams.flat().length);
        expect(new Set(listed).size).toBe(listed.length);
        for (const name of listed) expect(name).toMatch(/^[A-Za-z0-9_-]{1,50}$/);
        expect(listed).toEqual(listed.toSorted((a, b) => (a < b ? -1 : 1)));
        const answers = [];
        for (const name of listed) answers.push(await world.call(me, session, name));
        const expected = connections.flatMap(({ id }, index) =>
          (upstreams[index] ?? []).map((tool) => `${tool} of ${id}`),
        );
        expect(answers.toSorted()).toEqual(expected.toSorted());
      }),
      { numRuns: 25 },
    );
  });
});

describe("the visible tools", () => {
  it("of a bound token belong to its connection, and are empty while that is disabled for agents", async () => {
    const account = await world.createAccount();
    const a = await world.connect(account, ["get_a"]);
    const b = await world.connect(account, ["get_b"]);
    const bound = principal(account, { connectionId: a.id });
    const session = await world.open(bound);
    expect(await world.names(bound, session)).toEqual(["get_a"]);
    await expect(world.call(bound, session, "get_b")).rejects.toMatchObject({ kind: "not_found" });
    await expect(world.call(bound, session, `get_b__${b.id}`)).rejects.toMatchObject({ kind: "not_found" });
    await world.change(a, { agentEnabled: false });
    expect(await world.names(bound, session)).toEqual([]);
    await expect(world.call(bound, session, "get_a")).rejects.toMatchObject({ kind: "not_found" });
  });

  it("are read-only for a read-only token or connection", async () => {
    const account = await world.createAccount();
    const connection = await world.connect(account, ["get_a", "set_a"]);
    const reader = principal(account, { clientId: "reader", scopes: ["mcp.read"] });
    const writer = principal(account);
    const reading = await world.open(reader);
    const writing = await world.open(writer);
    expect(await world.names(reader, reading)).toEqual(["get_a"]);
    await expect(world.call(reader, reading, "set_a")).rejects.toMatchObject({ kind: "not_found" });
    await expect(world.call(reader, reading, `set_a__${connection.id}`)).rejects.toMatchObject({ kind: "not_found" });
    expect(await world.names(writer, writing)).toEqual(["get_a", "set_a"]);
    await world.change(connection, { accessType: "read" });
    expect(await world.names(writer, writing)).toEqual(["get_a"]);
  });

  it("exclude those of other accounts", async () => {
    const mine = await world.createAccount();
    const theirs = await world.connect(await world.createAccount(), ["get_secret"]);
    const me = principal(mine);
    const session = await world.open(me);
    expect(await world.names(me, session)).toEqual([]);
    await expect(world.call(me, session, `get_secret__${theirs.id}`)).rejects.toMatchObject({
      kind: "not_found",
      message: `Unknown tool "get_secret__${theirs.id}". List the tools of this session to see which can be called.`,
    });
  });

  it("exclude those of an upstream whose first list takes too long", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    const { id } = await world.connect(account, ["echo"]);
    await world.connect(account, [], { hangs: true });
    const session = await world.open(me);
    expect(await world.call(me, session, "echo")).toBe(`echo of ${id}`);
  });
});
