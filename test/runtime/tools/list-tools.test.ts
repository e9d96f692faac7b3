import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ListedCallable } from "../../../src/runtime/tools/session-tools.ts";
import { createToolPages } from "../../../src/runtime/tools/list-tools.ts";
import { createWorld, principal, toolNamed, type World } from "../world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const connection = { id: 1, name: "Acme" } as ListedCallable["callable"]["connection"];

function listed(names: Iterable<string>): ListedCallable[] {
  return [...names]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((name) => {
      const tool = { id: 1, definition: toolNamed(name), enabled: true };
      return {
        name,
        definition: tool.definition,
        callable: { connection, tool, bareName: name, aliasName: `acme__${name}`, qualifiedName: `${name}__1` },
      };
    });
}

describe("tool list pages", () => {
  it("contain 500 tools each, sorted by name, and every tool once", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    const names = Array.from({ length: 1_223 }, (_, index) => `get_${String(index).padStart(4, "0")}`);
    await world.connect(account, names);
    const session = await world.open(me);
    const first = await world.runtime.listTools(me, session, undefined);
    expect(first.tools).toHaveLength(500);
    expect(await world.names(me, session)).toEqual(names);
    const again = await world.runtime.listTools(me, session, undefined);
    expect(again).toBe(await world.runtime.listTools(me, session, undefined));
  });

  it("neither repeat nor skip a tool while other tools are added and removed", () => {
    const name = fc.stringMatching(/^[a-z]{1,3}$/);
    const set = fc.uniqueArray(name, { maxLength: 1_200, size: "max" });
    fc.assert(
      fc.property(set, set, (before, after) => {
        const pages = createToolPages();
        const first = pages.page(listed(before), undefined);
        const seen = first.tools.map((tool) => tool.name);
        for (let { nextCursor } = first; nextCursor !== undefined;) {
          const page = pages.page(listed(after), nextCursor);
          seen.push(...page.tools.map((tool) => tool.name));
          nextCursor = page.nextCursor;
        }
        expect(new Set(seen).size).toBe(seen.length);
        if (first.nextCursor === undefined) return;
        const stayed = before.filter((one) => after.includes(one));
        for (const one of stayed) expect(seen).toContain(one);
      }),
      { numRuns: 30 },
    );
  });

  it.each(["", "0", "500", "not base64!", Buffer.from("after:x").toString("base64url"), "x".repeat(5_000), "YQ", "é"])(
    "reject an unknown cursor (%j)",
    (cursor) => {
      expect(() => createToolPages().page(listed(["a"]), cursor)).toThrow(
        expect.objectContaining({ kind: "invalid", field: "cursor" }),
      );
    },
  );

  it("end with an empty page when all tools after the cursor were removed", () => {
    const names = Array.from({ length: 501 }, (_, index) => `tool_${String(index).padStart(3, "0")}`);
    const { nextCursor } = createToolPages().page(listed(names), undefined);
    expect(createToolPages().page(listed(["tool_000"]), nextCursor)).toEqual({ tools: [], nextCursor: undefined });
  });
});
