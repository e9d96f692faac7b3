import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { DomainError } from "../../domain-error.ts";
import { hashSecret } from "../hash-secret.ts";

/** Counts attempts per key over all replicas. */
export interface TryCounter {
  /** Counts one attempt. Returns 0 if it is allowed, otherwise the seconds until the next one is. */
  count(key: string): Promise<number>;
  /** Resets the count. */
  forget(key: string): Promise<void>;
}

export interface TryLimit {
  readonly tries: number;
  readonly windowSeconds: number;
}

/**
 * The limit for one account from one address is the lowest, so that an attacker cannot lock out the owner, who has
 * another address. The limit per account stops guessing from many addresses.
 */
export const LOGIN_LIMITS = {
  address: { tries: 60, windowSeconds: 900 },
  accountFromAddress: { tries: 8, windowSeconds: 900 },
  account: { tries: 100, windowSeconds: 3_600 },
} as const satisfies Readonly<Record<string, TryLimit>>;

export interface LoginTry {
  /** As entered. */
  readonly email: string;
  /** The client's IP address, as `clientAddress` returns it. */
  readonly address: string;
}

/** Limits password guessing. */
export interface LoginLimits {
  /** Counts an attempt before checking it, so that concurrent attempts count. Throws `exhausted`. */
  take(attempt: LoginTry): Promise<void>;
  /** Resets the counts after a successful attempt. */
  forgive(attempt: LoginTry): Promise<void>;
}

/**
 * Counts per address are in this replica's memory, so that a flood of guesses writes nothing. Counts per account are
 * in the database under a keyed hash, whether or not the account exists.
 */
export function createLoginLimits(deps: {
  readonly accountFromAddress: TryCounter;
  readonly account: TryCounter;
  readonly pepper: Uint8Array;
}): LoginLimits {
  const { tries, windowSeconds } = LOGIN_LIMITS.address;
  const byAddress = new RateLimiterMemory({ points: tries, duration: windowSeconds });
  const keyOf = (words: string): string => hashSecret(deps.pepper, `login\0${words}`).toString("base64url");
  const keysOf = ({ email, address }: LoginTry): { account: string; accountFromAddress: string } => {
    const name = email.toLowerCase();
    return { account: keyOf(name), accountFromAddress: keyOf(`${name}\0${address}`) };
  };

  function refuse(seconds: number): void {
    if (seconds === 0) return;
    throw new DomainError("exhausted", "Too many attempts to log in. Wait a while, then try again.", {
      retryAfterSeconds: seconds,
    });
  }

  async function countAddress(address: string): Promise<number> {
    try {
      await byAddress.consume(address);
      return 0;
    } catch (rejected) {
      if (rejected instanceof RateLimiterRes) return Math.max(1, Math.ceil(rejected.msBeforeNext / 1_000));
      throw rejected;
    }
  }

  return {
    async take(attempt) {
      const keys = keysOf(attempt);
      refuse(await countAddress(attempt.address));
      // Sequential, so that an address over its limit does not use up the owner's attempts.
      refuse(await deps.accountFromAddress.count(keys.accountFromAddress));
      refuse(await deps.account.count(keys.account));
    },
    async forgive(attempt) {
      const keys = keysOf(attempt);
      await byAddress.reward(attempt.address, 1);
      await deps.accountFromAddress.forget(keys.accountFromAddress);
      await deps.account.forget(keys.account);
    },
  };
}
