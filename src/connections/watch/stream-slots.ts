import { DomainError } from "../../domain-error.ts";

/** Maximum number of open streams of an account on one replica, over all protocols (DESIGN §8). */
export const MAX_STREAMS_PER_ACCOUNT = 200;

export interface StreamSlots {
  /** Takes a slot and returns a function that releases it. Throws `exhausted` if the account has none left. */
  take(accountId: string): () => void;
}

export function createStreamSlots(perAccount: number = MAX_STREAMS_PER_ACCOUNT): StreamSlots {
  const taken = new Map<string, number>();
  return {
    take(accountId) {
      const count = taken.get(accountId) ?? 0;
      if (count >= perAccount) {
        const sentence = `The account has ${perAccount} streams open, which is the limit. Close one, then open another.`;
        throw new DomainError("exhausted", sentence, { retryAfterSeconds: 10 });
      }
      taken.set(accountId, count + 1);
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        const left = (taken.get(accountId) ?? 1) - 1;
        if (left === 0) taken.delete(accountId);
        else taken.set(accountId, left);
      };
    },
  };
}
