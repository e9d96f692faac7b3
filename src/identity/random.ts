import { randomBytes } from "node:crypto";

/** Returns the prefix and 128 random bits in base64url. */
export function randomId(prefix: string): string {
  return prefix + randomBytes(16).toString("base64url");
}

/** Returns 256 random bits in base64url, which form encoding and HTTP Basic leave unchanged. */
export function randomSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** Returns 144 random bits in base64url. */
export function randomPassword(): string {
  return randomBytes(18).toString("base64url");
}
