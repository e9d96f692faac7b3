import { describe, expect, test } from "vitest";
import { aliasWithId, checkAlias, freeAlias } from "../../src/connections/alias.ts";

const TAKEN: ReadonlySet<string> = new Set();

describe("the alias of a new connection", () => {
  test.each([
    ["GitHub Work", "github_work"],
    ["  Acme – People (HR) ", "acme_people_hr"],
    ["Über Café", "uber_cafe"],
    ["a__b", "a_b"],
    ["A name that is far too long for it", "a_name_that_is_far_t"],
    ["Nineteen letters ab c", "nineteen_letters_ab"],
    ["社内ハンドブック", "mcp"],
    ["🎉", "mcp"],
    ["42", "42"],
  ])("is made from its name: %s", (name, alias) => {
    expect(freeAlias({ name, serverType: "mcp" }, TAKEN)).toBe(alias);
    expect(checkAlias(alias)).toBe(alias);
  });

  test("has a number if the alias is taken, within 20 characters", () => {
    const taken = new Set(["docs", "docs_2"]);
    expect(freeAlias({ name: "Docs", serverType: "mcp" }, taken)).toBe("docs_3");
    const long = { name: "abcdefghijklmnopqrstuvwxyz", serverType: "mcp" };
    expect(freeAlias(long, new Set(["abcdefghijklmnopqrst"]))).toBe("abcdefghijklmnopqr_2");
  });
});

test("a connection created before aliases existed has its id in its alias, so that two connections of one name differ", () => {
  const source = { name: "A name that is far too long for it", serverType: "mcp" };
  expect(aliasWithId(source, 7)).toBe("a_name_that_is_far_7");
  expect(aliasWithId(source, 1_234_567_890)).toBe("a_name_th_1234567890");
  for (const id of [7, 1_234_567_890]) expect(checkAlias(aliasWithId(source, id))).toBe(aliasWithId(source, id));
});

test.each(["", "A", "a__b", "_a", "a_", "a-", "a b", "a.b", "ä", "a_-b", "abcdefghijklmnopqrstu"])(
  "rejects %j as an alias and says what an alias is",
  (alias) => {
    expect(() => checkAlias(alias)).toThrow(/^alias must have 1 to 20 characters/);
  },
);
