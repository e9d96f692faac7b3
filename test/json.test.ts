import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonObject, parseJson, printJson, roundNumbers, type JsonValue } from "../src/json.ts";

const LIMITS = { maxDepth: 32, uniqueKeys: true } as const;

describe("parseJson and printJson", () => {
  test.each([
    "12345678901234567890",
    "-9007199254740993",
    '[9007199254740992,{"a":18446744073709551615}]',
    "1e400",
    '{"a":0.1,"b":1e2,"c":-0.5}',
  ])("%s keeps its digits", (text) => {
    expect(printJson(parseJson(text, LIMITS))).toBe(
      text === '{"a":0.1,"b":1e2,"c":-0.5}' ? '{"a":0.1,"b":100,"c":-0.5}' : text,
    );
  });

  test("any JSON is read as JSON.parse reads it", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        const text = JSON.stringify(value);
        expect(printJson(parseJson(text, LIMITS))).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  test("any integer, however long, is printed as it was read", () => {
    fc.assert(
      fc.property(fc.bigInt(), (integer) => {
        const text = `{"n":[${String(integer)}]}`;
        expect(printJson(parseJson(text, LIMITS))).toBe(text);
      }),
    );
  });

  test("brackets, quotes and commas inside strings do not count as structure", () => {
    const text = JSON.stringify({ 'a"{[\\': '}]{"a":1,"a":2', b: ["[".repeat(100), '\\"'] });
    expect(printJson(parseJson(text, LIMITS))).toBe(text);
  });

  test("counts nested brackets as depth, but not brackets side by side", () => {
    expect(() => parseJson("[".repeat(33) + "]".repeat(33), LIMITS)).toThrow("deeper than 32");
    expect(parseJson("[".repeat(32) + "]".repeat(32), LIMITS)).toBeDefined();
    expect(parseJson(`[${"[],".repeat(100)}{}]`, LIMITS)).toHaveLength(101);
    expect(() => parseJson("[".repeat(1_000_000), LIMITS)).toThrow(SyntaxError);
  });

  test("counts every value at every depth, and refuses more than the limit", () => {
    const limits = { maxDepth: 32, maxValues: 6 };
    const six = ['{"a":[],"b":{},"c":[1,","]}', "[[ ], [\n], {}, 1, 2]", "[[[[[1]]]]]"];
    for (const text of six) {
      expect(parseJson(text, limits)).toBeDefined();
      expect(() => parseJson(text, { ...limits, maxValues: 5 })).toThrow("more than 5 values");
    }
  });

  test("rejects a duplicate key within one object if requested", () => {
    expect(() => parseJson('{"a":1,"\\u0061":2}', LIMITS)).toThrow('"a" is given twice');
    expect(parseJson('{"a":1,"a":2}', { maxDepth: 32 })).toEqual({ a: 2 });
    expect(parseJson('{"a":{"a":1},"b":[{"a":1},{"a":"a"}]}', LIMITS)).toBeDefined();
  });

  test("an exact number is not an object", () => {
    expect(isJsonObject(parseJson("12345678901234567890", LIMITS))).toBe(false);
  });
});

describe("roundNumbers", () => {
  test("rounds exact numbers, and does not change a value without them", () => {
    const exact = parseJson('{"a":[12345678901234567890,{"b":1e400}],"c":"x"}', LIMITS);
    expect(roundNumbers(exact)).toEqual({ a: [12345678901234567000, { b: Infinity }], c: "x" });
    const plain: JsonValue = { a: [1, { b: null }] };
    expect(roundNumbers(plain)).toBe(plain);
  });
});
