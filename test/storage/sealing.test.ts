import { createCipheriv, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { parseMasterKeys } from "../../src/storage/master-keys.ts";
import { createSealer, SealError, type SealedPlace } from "../../src/storage/sealing.ts";

const first = { version: 1, key: randomBytes(32) };
const second = { version: 2, key: randomBytes(32) };
const sealer = createSealer([first]);
const place: SealedPlace = { table: "connection", column: "sealed_secrets", accountId: "acc_1", rowId: 7 };

describe("a sealed value", () => {
  test("can be decrypted in its own context", () => {
    for (const text of ["", "secret", "ключ 🔑", "x".repeat(100_000)]) {
      expect(sealer.open(sealer.seal(text, place), place)).toBe(text);
    }
  });

  test("does not contain its text and is different every time", () => {
    const sealed = sealer.seal("very-secret-token", place);
    expect(sealed.includes("very-secret-token")).toBe(false);
    expect(sealer.seal("very-secret-token", place).equals(sealed)).toBe(false);
  });

  test.each([
    { ...place, rowId: 8 },
    { ...place, accountId: "acc_2" },
    { ...place, column: "sealed_private_jwk" },
    { ...place, table: "signing_key" },
    // The same characters, split differently.
    { ...place, accountId: "acc_", rowId: "17" },
    { ...place, table: "connections", column: "ealed_secrets" },
  ])("does not open when moved to $table.$column of $accountId/$rowId", (elsewhere) => {
    const sealed = sealer.seal("secret", place);
    expect(() => sealer.open(sealed, elsewhere)).toThrow(SealError);
  });

  test("cannot be decrypted when truncated", () => {
    const sealed = sealer.seal("secret", place);
    for (let length = 0; length < sealed.length; length += 1) {
      expect(() => sealer.open(sealed.subarray(0, length), place), `cut to ${length} bytes`).toThrow(SealError);
    }
  });

  test("cannot be decrypted with any byte changed", () => {
    const sealed = sealer.seal("secret", place);
    for (let index = 0; index < sealed.length; index += 1) {
      const changed = Buffer.from(sealed);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(() => sealer.open(changed, place), `byte ${index}`).toThrow(SealError);
    }
  });

  test("cannot be decrypted with a tag of four bytes", () => {
    const dataKey = randomBytes(32);
    const nonce = randomBytes(12);
    const short = createCipheriv("aes-256-gcm", dataKey, nonce, { authTagLength: 4 });
    const box = Buffer.concat([nonce, short.update("secret"), short.final(), short.getAuthTag()]);
    expect(box.subarray(-4)).toHaveLength(4);
    const sealed = sealer.seal("secret", place);
    const tagStart = sealed.length - 16;
    expect(() => sealer.open(sealed.subarray(0, tagStart + 4), place)).toThrow(SealError);
    expect(() => sealer.open(Buffer.concat([sealed.subarray(0, 65), box]), place)).toThrow(SealError);
  });

  test("cannot be decrypted under another key version, even a known one", () => {
    const both = createSealer([second, first]);
    const sealed = sealer.seal("secret", place);
    expect(both.open(sealed, place)).toBe("secret");
    sealed.writeUInt32BE(2, 1);
    expect(() => both.open(sealed, place)).toThrow(SealError);
  });

  test("cannot be decrypted in an unknown format", () => {
    const sealed = sealer.seal("secret", place);
    sealed[0] = 2;
    expect(() => sealer.open(sealed, place)).toThrow(/unknown format/);
  });

  test("names the missing master key version, without content, when it cannot be decrypted", () => {
    const sealed = createSealer([second]).seal("very-secret-token", place);
    expect(() => sealer.open(sealed, place)).toThrow(
      "the encrypted value in connection.sealed_secrets needs master key version 2",
    );
  });
});

describe("rewrapping", () => {
  test("uses the newest master key, so that the old one is not needed", () => {
    const both = createSealer([second, first]);
    const rewrapped = both.rewrap(sealer.seal("secret", place), place);
    expect(rewrapped).toBeDefined();
    expect(createSealer([second]).open(rewrapped ?? Buffer.alloc(0), place)).toBe("secret");
  });

  test("does not change a value of the newest key", () => {
    expect(sealer.rewrap(sealer.seal("secret", place), place)).toBeUndefined();
  });
});

describe("master keys", () => {
  test("are read newest first", () => {
    const text = [second, first].map(({ version, key }) => `${version}:${key.toString("base64")}`).join(",");
    expect(parseMasterKeys(text)).toEqual([second, first]);
  });

  test.each([
    ["", /master key 1 does not have the form/],
    ["abc", /master key 1 does not have the form/],
    [`0:${randomBytes(32).toString("base64")}`, /not have the form/],
    [`1:${randomBytes(31).toString("base64")}`, /31 bytes instead of 32/],
    [`1:${randomBytes(32).toString("base64")},1:${randomBytes(32).toString("base64")}`, /same version/],
  ])("that are malformed are refused (%#)", (text, message) => {
    expect(() => parseMasterKeys(text)).toThrow(message);
  });

  test("that are malformed are not printed in the message", () => {
    const secret = randomBytes(20).toString("base64");
    let message = "";
    try {
      parseMasterKeys(`1:${secret}`);
    } catch (error) {
      message = String(error);
    }
    expect(message).toMatch(/bytes instead of/);
    expect(message).not.toContain(secret);
  });
});
