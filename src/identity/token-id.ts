import { randomBytes } from "node:crypto";

/**
 * An instant in microseconds since 1970 on the database's clock.
 *
 * A token id is a UUIDv7 (RFC 9562, method 3: the 12 bits after the version contain the fraction of the millisecond).
 * `iat` has whole seconds only, and a revocation must distinguish tokens issued before and after it within one second.
 */
export type Micros = number;

const HEX_UUID = /^[0-9a-f]{32}$/;

/** Returns a UUIDv7 of the instant without dashes. */
function uuidHex(instant: Micros): string {
  const millis = Math.floor(instant / 1_000);
  const fraction = Math.ceil(((instant % 1_000) * 4_096) / 1_000);
  const bytes = randomBytes(16);
  bytes.writeUIntBE(millis, 0, 6);
  bytes.writeUInt16BE(0x7000 | fraction, 6);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return bytes.toString("hex");
}

/** The `jti` of an OAuth access token. */
export function accessTokenId(instant: Micros): string {
  return uuidHex(instant).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** The `jti` of a personal access token, `pat_<uuid>`. */
export function personalAccessTokenId(instant: Micros): string {
  return `pat_${uuidHex(instant)}`;
}

/** The instant in a token id, or the start of the `iat` second for another id format. */
export function issuedAtMicros(tokenId: string, iatSeconds: number): Micros {
  const hex = (tokenId.startsWith("pat_") ? tokenId.slice(4) : tokenId).replaceAll("-", "");
  if (!HEX_UUID.test(hex) || hex[12] !== "7") return iatSeconds * 1_000_000;
  return (
    Number.parseInt(hex.slice(0, 12), 16) * 1_000 + Math.floor((Number.parseInt(hex.slice(13, 16), 16) * 1_000) / 4_096)
  );
}

/** Parses an ISO 8601 timestamp with the microseconds that `Date` drops. */
export function parseMicros(iso: string): Micros {
  const micros = /\.\d{3}(\d{3})/.exec(iso)?.[1];
  return Date.parse(iso) * 1_000 + (micros === undefined ? 0 : Number(micros));
}
