import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { DomainError } from "../../domain-error.ts";
import { hashSecret } from "../hash-secret.ts";

/** Counts tries under a key, over all replicas. */
export interface TryCounter {
  /** Counts one; the seconds until the next is allowed, or 0 when this one is. */
  count(key: string): Promise<number>;
  /** Forgets what was counted. */
  forget(key: string): Promise<void>;
}

/** How many tries a window allows. */
export interface TryLimit {
  readonly tries: number;
  readonly windowSeconds: number;
}

/**
 * Tries to log in. Guesses from one address at one account end first, so that an attacker cannot lock out the owner, who
 * has another address; the account's limit over all addresses stops a guess by many machines.
 */
export const LOGIN_LIMITS = {
  address: { tries: 60, windowSeconds: 900 },
  accountFromAddress: { tries: 8, windowSeconds: 900 },
  account: { tries: 100, windowSeconds: 3_600 },
} as const satisfies Readonly<Record<string, TryLimit>>;

/** Who tries. */
export interface LoginTry {
  /** As it was typed. */
  readonly email: string;
  /** The caller's, as `clientAddress` gives it. */
  readonly address: string;
}

/** Slows down who guesses at passwords. */
export interface LoginLimits {
  /** Counts a try before it is judged, so that many at once count as well. Fails with `exhausted`. */
  take(attempt: LoginTry): Promise<void>;
  /** The try was right: what led to it is forgiven. */
  forgive(attempt: LoginTry): Promise<void>;
}

/**
 * The address is counted in this replica's memory, so that a flood of guesses writes nothing. The account is counted in the
 * database, over all replicas, under a keyed hash: whether it exists makes no difference and its name is not kept.
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
      // One after the other: an address that is out of tries must not use up those of the account's owner.
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
