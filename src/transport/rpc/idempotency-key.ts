import type { HandlerContext } from "@connectrpc/connect";
import { invalid } from "../../domain-error.ts";
import { requestHeader } from "./request-header.ts";

const VISIBLE_ASCII = /^[!-~]{1,255}$/;

/**
 * Returns the `Idempotency-Key` of a call (draft-ietf-httpapi-idempotency-key-header), over RPC from its metadata,
 * unchanged and with quotes. Throws DomainError `invalid`.
 */
export function idempotencyKeyOf(context: HandlerContext): string | undefined {
  const key = requestHeader(context, "idempotency-key");
  if (key === null) return undefined;
  if (!VISIBLE_ASCII.test(key))
    throw invalid("Idempotency-Key", "Idempotency-Key must be 1 to 255 visible ASCII characters, given once.");
  return key;
}
