import { randomBytes } from "node:crypto";

/** An identifier that nobody can guess: the prefix and 128 random bits in base64url. */
export function randomId(prefix: string): string {
  return prefix + randomBytes(16).toString("base64url");
}

/** A secret of 256 random bits in base64url, so that form-encoding and HTTP Basic carry it unchanged. */
export function randomSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** A password of 144 random bits, shown once to the person it is made for. */
export function randomPassword(): string {
  return randomBytes(18).toString("base64url");
}
