import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyEdits, elementsOf, memberOf, membersOf, withMembers } from "../src/json-text.ts";

/** Any JSON value, printed with and without white space. */
const anyJson = fc
  .tuple(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 1, "\t"))
  .map(([value, indent]) => ({ value, text: JSON.stringify(value, null, indent) }));

describe("membersOf and elementsOf", () => {
  test("return the text of each member and element of any JSON", () => {
    fc.assert(
      fc.property(anyJson, ({ value, text }) => {
        const members = Object.fromEntries(
          membersOf(text).map(({ key, start, end }) => [key, JSON.parse(text.slice(start, end)) as unknown]),
        );
        const elements = elementsOf(text).map(({ start, end }) => JSON.parse(text.slice(start, end)) as unknown);
        const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
        // JSON.parse makes `__proto__` an own member, which fromEntries does too.
        expect(members).toEqual(isObject ? JSON.parse(text) : {});
        expect(elements).toEqual(Array.isArray(value) ? JSON.parse(text) : []);
      }),
    );
  });

  test("read keys with escapes, and brackets, commas and quotes inside strings", () => {
    const text = String.raw`{ "a\"b" : "},{[" , "\u0063":[ "]" , -1.0e+2,{ }], "d":"\\" }`;
    expect(membersOf(text).map(({ key, start, end }) => [key, text.slice(start, end)])).toEqual([
      ['a"b', '"},{["'],
      ["c", '[ "]" , -1.0e+2,{ }]'],
      ["d", String.raw`"\\"`],
    ]);
    const list = memberOf(text, "c");
    expect(elementsOf(text, list?.start).map(({ start, end }) => text.slice(start, end))).toEqual([
      '"]"',
      "-1.0e+2",
      "{ }",
    ]);
  });

  test("are empty for other values", () => {
    for (const text of ["[]", "{}", " [ ] ", "null", '"{}"', "1"]) {
      expect(membersOf(text)).toEqual([]);
      expect(elementsOf(text)).toEqual([]);
    }
  });
});

describe("withMembers", () => {
  test("keeps the text of all other members", () => {
    const text = '{ "2" : 1.0, "1":1e2 , "a": {"b" : [1 ,2]} }';
    expect(withMembers(text, { "1": undefined })).toBe('{"2" : 1.0,"a": {"b" : [1 ,2]}}');
    expect(withMembers(text, { "2": '"x"', z: "null" })).toBe('{"2" : "x","1":1e2,"a": {"b" : [1 ,2]},"z":null}');
    expect(withMembers("{}", {})).toBe("{}");
  });

  test("keeps only the last of duplicate keys, as JSON.parse does", () => {
    expect(withMembers('{"a":1,"b":2,"a":3}', { c: "4" })).toBe('{"a":3,"b":2,"c":4}');
  });
});

test("applyEdits replaces spans in order", () => {
  expect(applyEdits("abcdef", [])).toBe("abcdef");
  const edits = [
    { start: 0, end: 1, text: "x" },
    { start: 3, end: 5, text: "" },
  ];
  expect(applyEdits("abcdef", edits)).toBe("xbcf");
});
