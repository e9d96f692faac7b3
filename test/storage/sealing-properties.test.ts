import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseMasterKeys } from "../../src/storage/master-keys.ts";
import { createSealer, SealError, type SealedPlace } from "../../src/storage/sealing.ts";

const older = { version: 1, key: randomBytes(32) };
const newer = { version: 0x0102_0304, key: randomBytes(32) };
const old = createSealer([older]);
const both = createSealer([newer, older]);

const text = fc.string({ unit: "binary", maxLength: 200 });
const place: fc.Arbitrary<SealedPlace> = fc.record({
  table: fc.string(),
  column: fc.string(),
  accountId: fc.string(),
  rowId: fc.oneof(fc.string(), fc.integer({ min: 1 })),
});
const nameOf = ({ table, column, accountId, rowId }: SealedPlace): string =>
  JSON.stringify([table, column, accountId, String(rowId)]);

describe("the format of sealed secrets", () => {
  test("decrypts any text in any context, before and after rewrapping", () => {
    fc.assert(
      fc.property(text, place, (secret, where) => {
        const sealed = old.seal(secret, where);
        const moved = both.rewrap(sealed, where);
        expect(old.open(sealed, where)).toBe(secret.toWellFormed());
        expect(moved && createSealer([newer]).open(moved, where)).toBe(secret.toWellFormed());
      }),
    );
  });

  test("cannot be decrypted in another context", () => {
    fc.assert(
      fc.property(text, place, place, (secret, where, elsewhere) => {
        fc.pre(nameOf(where) !== nameOf(elsewhere));
        expect(() => old.open(old.seal(secret, where), elsewhere)).toThrow(SealError);
        expect(() => both.rewrap(old.seal(secret, where), elsewhere)).toThrow(SealError);
      }),
    );
  });

  test("rejects changed, cut, extended or spliced values with one kind of error", () => {
    const change = fc.record({ at: fc.nat(), length: fc.nat(40), bytes: fc.uint8Array({ maxLength: 40 }) });
    fc.assert(
      fc.property(text, place, change, (secret, where, { at, length, bytes }) => {
        const sealed = old.seal(secret, where);
        const from = at % (sealed.length + 1);
        const changed = Buffer.concat([sealed.subarray(0, from), bytes, sealed.subarray(from + length)]);
        fc.pre(!changed.equals(sealed));
        expect(() => old.open(changed, where)).toThrow(SealError);
      }),
    );
  });

  test("rejects any other key version in its header, even a known one", () => {
    fc.assert(
      fc.property(text, place, fc.integer({ min: 0, max: 0xffff_ffff }), (secret, where, version) => {
        fc.pre(version !== older.version);
        const sealed = old.seal(secret, where);
        for (const wrong of [version, newer.version]) {
          sealed.writeUInt32BE(wrong, 1);
          expect(() => both.open(sealed, where)).toThrow(SealError);
        }
      }),
    );
  });

  test("rejects arbitrary bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), place, (bytes, where) => {
        expect(() => old.open(bytes, where)).toThrow(SealError);
      }),
    );
  });

  test("rejects a combination of two values", () => {
    fc.assert(
      fc.property(text, text, place, (one, other, where) => {
        const [first, second] = [old.seal(one, where), old.seal(other, where)];
        // The header and wrapped data key of one value with the box of the other.
        expect(() => old.open(Buffer.concat([first.subarray(0, 65), second.subarray(65)]), where)).toThrow(SealError);
      }),
    );
  });

  test("reveals nothing of the text in its errors", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{12,20}$/), place, (secret, where) => {
        fc.pre(!nameOf(where).includes(secret));
        const sealed = old.seal(secret, where);
        sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1;
        try {
          old.open(sealed, where);
        } catch (error) {
          expect(String(error)).not.toContain(secret);
        }
      }),
    );
  });
});

test("parsing any text as master keys returns keys or throws one line that does not contain it", () => {
  const entry = fc.oneof(
    fc.string(),
    fc.tuple(fc.integer(), fc.uint8Array({ minLength: 30, maxLength: 34 })).map(([version, key]) => {
      return `${version}:${Buffer.from(key).toString("base64")}`;
    }),
  );
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 3 }), (entries) => {
      const line = entries.join(",");
      try {
        for (const { version, key } of parseMasterKeys(line)) {
          expect(version).toBeGreaterThan(0);
          expect(key).toHaveLength(32);
        }
      } catch (error) {
        const message = error instanceof Error ? error.message : "";
        expect(message).toMatch(
          /^(master key \d+ (does not have the form version:base64|has \d+ bytes instead of 32)|two master keys have the same version)$/,
        );
      }
    }),
  );
});
