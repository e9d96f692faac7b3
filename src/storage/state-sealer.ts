import type { StateSealer } from "../runtime/relay/request-state.ts";
import { SealError, type SealedPlace, type Sealer } from "./sealing.ts";

/** Seals state that clients keep. It is not stored here, so `keys rewrap` does not affect it. */
export function createStateSealer(sealer: Sealer): StateSealer {
  const placeOf = (accountId: string, binding: string): SealedPlace => ({
    table: "client",
    column: "request_state",
    accountId,
    rowId: binding,
  });
  return {
    seal: (text, accountId, binding) => sealer.seal(text, placeOf(accountId, binding)).toString("base64url"),
    open(sealed, accountId, binding) {
      // Node ignores characters that are not base64url, so the text must be the one that Node writes.
      const bytes = Buffer.from(sealed, "base64url");
      if (bytes.toString("base64url") !== sealed) return undefined;
      try {
        return sealer.open(bytes, placeOf(accountId, binding));
      } catch (error) {
        if (error instanceof SealError) return undefined;
        throw error;
      }
    },
  };
}
