import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import type { MasterKey } from "./master-keys.ts";

/** The context of an encrypted value. A value moved to another context cannot be decrypted. */
export interface SealedPlace {
  readonly table: string;
  readonly column: string;
  /** Empty for rows without an account. */
  readonly accountId: string;
  readonly rowId: string | number;
}

/** Encrypts secrets for storage and decrypts them. */
export interface Sealer {
  /** Encrypts text with a new data key, which the newest master key encrypts. */
  seal(text: string, place: SealedPlace): Buffer;
  /** @throws SealError if the value was changed, moved, or encrypted with an unavailable master key. */
  open(sealed: Uint8Array, place: SealedPlace): string;
  /**
   * Encrypts the data key with the newest master key; returns undefined if it already is. The text is not decrypted.
   */
  rewrap(sealed: Uint8Array, place: SealedPlace): Buffer | undefined;
  /** `version:hash` of every master key, newest first, comma separated. Reveals nothing about the keys. */
  readonly fingerprint: string;
  /** The version that encrypts new values. */
  readonly newestVersion: number;
  /** The versions that can be decrypted, newest first. */
  readonly versions: readonly number[];
}

/** A value that cannot be decrypted. The message names the context and never the content. */
export class SealError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SealError";
  }
}

/*
 * Format 1, in bytes: 1 format · 4 master key version (big endian) · 12 nonce, 32 encrypted data key, 16 tag · 12
 * nonce, n text, 16 tag. Both layers are AES-256-GCM. The outer one authenticates the format, the master key's version
 * and the context; the inner one the format and the context, but not the version, so that the data key can be
 * re-encrypted without decrypting the text.
 */
const FORMAT = 1;
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const KEY_BYTES = 32;
const TAG_BYTES = 16;
const HEADER_BYTES = 5;
const TEXT_START = HEADER_BYTES + NONCE_BYTES + KEY_BYTES + TAG_BYTES;

function encrypt(key: Uint8Array, plain: Uint8Array, aad: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(aad);
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: Uint8Array, box: Uint8Array, aad: Uint8Array): Buffer {
  const nonce = box.subarray(0, NONCE_BYTES);
  // Without the length, Node would accept a tag of four bytes, which an attacker could guess.
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(aad);
  decipher.setAuthTag(box.subarray(box.length - TAG_BYTES));
  return Buffer.concat([decipher.update(box.subarray(NONCE_BYTES, box.length - TAG_BYTES)), decipher.final()]);
}

/** Each part is preceded by its length, so that different contexts never have equal encodings. */
function authenticated(header: Uint8Array, place: SealedPlace): Buffer {
  const parts = [place.table, place.column, place.accountId, String(place.rowId)].flatMap((part) => {
    const bytes = Buffer.from(part);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  return Buffer.concat([header, ...parts]);
}

function headerOf(version: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(FORMAT);
  header.writeUInt32BE(version, 1);
  return header;
}

function fingerprintOf({ version, key }: MasterKey): string {
  return `${version}:${createHmac("sha256", key).update("patchbay master key fingerprint").digest("hex").slice(0, 32)}`;
}

/** Creates a sealer with the given master keys, newest first; at least one is required. */
export function createSealer(masterKeys: readonly MasterKey[]): Sealer {
  const [newest] = masterKeys;
  if (newest === undefined) throw new Error("a sealer needs at least one master key");
  const keys = new Map(masterKeys.map((masterKey) => [masterKey.version, masterKey.key]));
  const newestHeader = headerOf(newest.version);

  const unwrap = (sealed: Uint8Array, place: SealedPlace): { version: number; dataKey: Buffer } => {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    const where = `${place.table}.${place.column}`;
    if (bytes.length < TEXT_START + NONCE_BYTES + TAG_BYTES)
      throw new SealError(`the encrypted value in ${where} is truncated`);
    if (bytes[0] !== FORMAT) throw new SealError(`the encrypted value in ${where} has an unknown format`);
    const version = bytes.readUInt32BE(1);
    const key = keys.get(version);
    if (key === undefined) throw new SealError(`the encrypted value in ${where} needs master key version ${version}`);
    try {
      const aad = authenticated(bytes.subarray(0, HEADER_BYTES), place);
      return { version, dataKey: decrypt(key, bytes.subarray(HEADER_BYTES, TEXT_START), aad) };
    } catch (cause) {
      throw new SealError(`the encrypted value in ${where} was changed or belongs elsewhere`, { cause });
    }
  };

  return {
    seal(text, place) {
      const dataKey = randomBytes(KEY_BYTES);
      const wrapped = encrypt(newest.key, dataKey, authenticated(newestHeader, place));
      const box = encrypt(dataKey, Buffer.from(text), authenticated(Buffer.of(FORMAT), place));
      return Buffer.concat([newestHeader, wrapped, box]);
    },
    open(sealed, place) {
      const { dataKey } = unwrap(sealed, place);
      try {
        return decrypt(dataKey, sealed.subarray(TEXT_START), authenticated(Buffer.of(FORMAT), place)).toString();
      } catch (cause) {
        throw new SealError(`the encrypted value in ${place.table}.${place.column} was changed`, { cause });
      }
    },
    rewrap(sealed, place) {
      const { version, dataKey } = unwrap(sealed, place);
      if (version === newest.version) return undefined;
      const wrapped = encrypt(newest.key, dataKey, authenticated(newestHeader, place));
      return Buffer.concat([newestHeader, wrapped, sealed.subarray(TEXT_START)]);
    },
    fingerprint: masterKeys.map(fingerprintOf).join(","),
    newestVersion: newest.version,
    versions: masterKeys.map(({ version }) => version),
  };
}
