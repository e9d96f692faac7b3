import { createHmac } from "node:crypto";

/**
 * The stored form of a client secret: HMAC-SHA-256 with the installation's pepper. A slow hash adds nothing, because
 * generated secrets have at least 128 bits of entropy.
 */
export function hashSecret(pepper: Uint8Array, secret: string): Buffer {
  return createHmac("sha256", pepper).update(secret, "utf8").digest();
}
