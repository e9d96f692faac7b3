import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode } from "./storage-error.ts";

/** A key that encrypts data keys. Its version is part of every encrypted value. */
export interface MasterKey {
  /** 1 to 2^32 - 1. */
  readonly version: number;
  /** 32 bytes. */
  readonly key: Buffer;
}

const KEY_BYTES = 32;

/**
 * Reads master keys written as `version:base64`, comma separated, newest first.
 *
 * @throws Error with one line that names the entry by its position and never shows a key.
 */
export function parseMasterKeys(text: string): readonly MasterKey[] {
  const keys = text.split(",").map((entry, index): MasterKey => {
    const match = /^([1-9][0-9]{0,9}):([A-Za-z0-9+/_-]+={0,2})$/.exec(entry.trim());
    const version = Number(match?.[1]);
    const key = Buffer.from(match?.[2] ?? "", "base64");
    if (match === null || version > 0xffff_ffff)
      throw new Error(`master key ${index + 1} does not have the form version:base64`);
    if (key.length !== KEY_BYTES)
      throw new Error(`master key ${index + 1} has ${key.length} bytes instead of ${KEY_BYTES}`);
    return { version, key };
  });
  if (new Set(keys.map(({ version }) => version)).size !== keys.length)
    throw new Error("two master keys have the same version");
  return keys;
}

/**
 * Reads the master keys in `<dataDir>/keys/master-keys` (0600, its folder 0700) and creates them on the first start.
 * Safe with several processes at once.
 */
export async function loadOrCreateMasterKeys(dataDir: string): Promise<readonly MasterKey[]> {
  const file = join(dataDir, "keys", "master-keys");
  const stored = await readFile(file, "utf8").catch((error: unknown) => {
    if (errorCode(error) !== "ENOENT") throw error;
  });
  if (stored !== undefined) return parseMasterKeys(stored);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomBytes(6).toString("hex")}`;
  await writeFile(draft, `1:${randomBytes(KEY_BYTES).toString("base64")}\n`, { mode: 0o600, flush: true });
  try {
    // Unlike a rename, a link does not replace the file of a faster process.
    await link(draft, file).catch((error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
  return parseMasterKeys(await readFile(file, "utf8"));
}
