import { createContextKey, type ContextKey } from "@connectrpc/connect";

/** What an implementation calls when it begins to wait for an upstream, which may take an hour. */
export const waitKey: ContextKey<(() => void) | undefined> = createContextKey<(() => void) | undefined>(undefined, {
  description: "wait",
});

/** The longest deadline that a caller may set, in milliseconds. */
const MAX_TIMEOUT_MS = 40_000;
/** The longest deadline that a caller may set for a call that waits for an upstream, in milliseconds. */
const MAX_WAIT_TIMEOUT_MS = 86_400_000;

/** The longest deadline that a caller may set for an RPC, in milliseconds. */
export function maxTimeoutMs({ heartbeats }: { readonly heartbeats: object | undefined }): number {
  return heartbeats === undefined ? MAX_TIMEOUT_MS : MAX_WAIT_TIMEOUT_MS;
}
