import { createHmac } from "node:crypto";

/**
 * What is stored of a client secret: HMAC-SHA-256 under the installation's pepper.
 * Fast on purpose: our secrets have at least 128 bits of entropy, so a slow hash would only slow down the token endpoint.
 */
export function hashSecret(pepper: Uint8Array, secret: string): Buffer {
  return createHmac("sha256", pepper).update(secret, "utf8").digest();
}
