import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  fitToolName,
  looksQualified,
  qualifyToolName,
  splitQualifiedName,
} from "../../../src/runtime/tools/tool-name.ts";

const name = fc.oneof(
  fc.string({ minLength: 1, maxLength: 40 }),
  fc.string({ minLength: 50, maxLength: 200, unit: "binary" }),
  fc.stringMatching(/^[a-z]{60,64}$/),
  fc.stringMatching(/^[a-z]{55}_[0-9a-f]{8}$/),
  fc.stringMatching(/^[a-z]{1,60}__[1-9][0-9]{0,9}$/),
);
const connectionId = fc.integer({ min: 1, max: 2_147_483_647 });

describe("a tool name", () => {
  it("is kept if it fits and does not look shortened", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z][a-zA-Z.-]{0,63}$/), (short) => {
        expect(fitToolName(short)).toBe(short);
      }),
    );
  });

  it("never has more than 64 characters, bare or qualified", () => {
    fc.assert(
      fc.property(name, connectionId, (any, id) => {
        expect(fitToolName(any).length).toBeLessThanOrEqual(64);
        expect(qualifyToolName(any, id).length).toBeLessThanOrEqual(64);
      }),
    );
  });

  it("is well-formed Unicode after shortening", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 30, maxLength: 90, unit: "binary" }), (any) => {
        fc.pre(any.isWellFormed());
        expect(fitToolName(any).isWellFormed()).toBe(true);
      }),
    );
    expect(fitToolName("😀".repeat(60)).isWellFormed()).toBe(true);
  });

  it("keeps the connection id in the qualified form when shortened", () => {
    fc.assert(
      fc.property(name, connectionId, (any, id) => {
        expect(splitQualifiedName(qualifyToolName(any, id))?.connectionId).toBe(id);
      }),
    );
  });

  it("differs between tools and between connections", () => {
    fc.assert(
      fc.property(name, name, connectionId, connectionId, (a, b, i, j) => {
        fc.pre(a !== b || i !== j);
        expect(qualifyToolName(a, i)).not.toBe(qualifyToolName(b, j));
        if (a !== b) expect(fitToolName(a)).not.toBe(fitToolName(b));
      }),
    );
  });

  it("cannot be claimed by an upstream that imitates a shortened name", () => {
    const long = "a".repeat(100);
    const taken = fitToolName(long);
    expect(taken).toHaveLength(64);
    expect(fitToolName(taken)).not.toBe(taken);
  });

  it("is qualified only if it ends with two underscores and an id", () => {
    expect(looksQualified("echo__7")).toBe(true);
    for (const bare of ["echo", "echo_7", "echo__", "echo__07", "__7", "echo__7x", "echo__12345678901"]) {
      expect(looksQualified(bare)).toBe(false);
    }
  });
});
