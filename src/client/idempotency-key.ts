/** The header, or RPC metadata, that makes retries of a request safe. */
export const IDEMPOTENCY_KEY = "idempotency-key";

const KEY_BYTES = 16;

/** Returns a unique key of 128 random bits. (`crypto.randomUUID` exists only in secure contexts.) */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
