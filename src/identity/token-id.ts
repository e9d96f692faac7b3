import { randomBytes } from "node:crypto";

/**
 * Moments here are microseconds since 1970, on the database's clock.
 *
 * A token's identifier is a UUIDv7 (RFC 9562, method 3: the 12 bits after the version hold the fraction of the
 * millisecond), because `iat` counts whole seconds and a revocation must tell apart what was issued before it from what
 * was issued after it within the same second.
 */
export type Micros = number;

const HEX_UUID = /^[0-9a-f]{32}$/;

/** A UUIDv7, without dashes, of the given moment. */
function uuidHex(moment: Micros): string {
  const millis = Math.floor(moment / 1_000);
  const fraction = Math.ceil(((moment % 1_000) * 4_096) / 1_000);
  const bytes = randomBytes(16);
  bytes.writeUIntBE(millis, 0, 6);
  bytes.writeUInt16BE(0x7000 | fraction, 6);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return bytes.toString("hex");
}

/** The `jti` of an OAuth access token that counts as issued at the given moment. */
export function accessTokenId(moment: Micros): string {
  return uuidHex(moment).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** The `jti` of a personal access token, `pat_<token_identifier>`. */
export function personalAccessTokenId(moment: Micros): string {
  return `pat_${uuidHex(moment)}`;
}

/** The moment that a token's identifier carries; for an identifier of another form the start of its `iat` second. */
export function issuedAtMicros(tokenId: string, iatSeconds: number): Micros {
  const hex = (tokenId.startsWith("pat_") ? tokenId.slice(4) : tokenId).replaceAll("-", "");
  if (!HEX_UUID.test(hex) || hex[12] !== "7") return iatSeconds * 1_000_000;
  return (
    Number.parseInt(hex.slice(0, 12), 16) * 1_000 + Math.floor((Number.parseInt(hex.slice(13, 16), 16) * 1_000) / 4_096)
  );
}

/** Parses PostgreSQL's or JavaScript's ISO 8601 text, keeping the microseconds that `Date` would drop. */
export function parseMicros(iso: string): Micros {
  const micros = /\.\d{3}(\d{3})/.exec(iso)?.[1];
  return Date.parse(iso) * 1_000 + (micros === undefined ? 0 : Number(micros));
}
