import { hashSecret } from "../../../identity/hash-secret.ts";
import type { PayloadModel } from "../../../identity/oauth/payload-store.ts";

/**
 * The id under which a code or refresh token is stored: a keyed hash, so that a reader of the database cannot use it.
 */
export function payloadId(pepper: Uint8Array, model: PayloadModel, value: string): string {
  return hashSecret(pepper, `${model}\0${value}`).toString("base64url");
}
