import type { Logger } from "pino";
import { type ClaimRunner, startClaimRunner } from "../../claim-runner.ts";
import { pauseSeconds, type VerifyKey } from "./verification.ts";
import {
  CLAIM_SECONDS,
  type DueVerification,
  VERIFICATION_PRIORITIES,
  type VerificationPriority,
  type VerificationQueue,
} from "./verification-queue.ts";

/** For each priority, the number of running verifications below which another one may start. */
const SLOTS: readonly (readonly [priority: VerificationPriority, running: number])[] = [
  [VERIFICATION_PRIORITIES.fresh, 96],
  [VERIFICATION_PRIORITIES.retry, 64],
  [VERIFICATION_PRIORITIES.recheck, 32],
];
/** An account with this many running verifications gets no further slots. */
const BUSY_ACCOUNT = 8;

export interface VerificationRunnerDeps {
  readonly queue: VerificationQueue;
  readonly verify: VerifyKey;
  readonly log: Logger;
}

/** Verifies due keys until closed, and returns unfinished ones to the queue. */
export function startVerificationRunner({ queue, verify, log }: VerificationRunnerDeps): ClaimRunner {
  async function run(due: DueVerification, signal: AbortSignal): Promise<void> {
    try {
      const pause = await attempt(due, signal);
      if (pause === undefined) await queue.complete(due);
      else await queue.postpone(due, pause, signal.aborted ? due.attempt : due.attempt + 1);
    } catch (error) {
      // The claim expires, and the key is verified again.
      log.warn(
        { err: error, connection: due.connectionId },
        "the result of a verification could not be stored; retrying",
      );
    }
  }

  async function attempt(due: DueVerification, signal: AbortSignal): Promise<number | undefined> {
    try {
      return await verify(due, signal);
    } catch (error) {
      if (signal.aborted) return 0;
      log.warn({ err: error, connection: due.connectionId }, "a verification failed; retrying");
      return pauseSeconds(due.attempt);
    }
  }

  return startClaimRunner({
    sources: SLOTS.map(([priority, slots]) => ({
      slots,
      claim: (limit: number, busy: readonly string[]) => queue.claim(priority, limit, busy),
    })),
    busyAccount: BUSY_ACCOUNT,
    claimSeconds: CLAIM_SECONDS,
    renew: (claims) => queue.renew(claims),
    run,
    what: "verifications",
    log,
  });
}
