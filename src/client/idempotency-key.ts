/** The header, over RPC the metadata, that names a request so that it can be sent again. */
export const IDEMPOTENCY_KEY = "idempotency-key";

const KEY_BYTES = 16;

/** A key that no other request has: 128 random bits. (`crypto.randomUUID` is for secure contexts alone.) */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
