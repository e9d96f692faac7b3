import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { pauseSeconds, type VerifyKey } from "./verification.ts";
import {
  CLAIM_SECONDS,
  type DueVerification,
  VERIFICATION_PRIORITIES,
  type VerificationPriority,
  type VerificationQueue,
} from "./verification-queue.ts";

/**
 * For each priority, the running verifications below which one may start. Lower priorities leave slots free for higher
 * ones.
 */
const SLOTS: readonly (readonly [priority: VerificationPriority, running: number])[] = [
  [VERIFICATION_PRIORITIES.fresh, 96],
  [VERIFICATION_PRIORITIES.retry, 64],
  [VERIFICATION_PRIORITIES.recheck, 32],
];
/** An account with this many running verifications gets no further slots. */
const BUSY_ACCOUNT = 8;
/** The polling interval while nothing wakes the runner. */
const POLL_MS = 500;
/** The shortest time between two claims, so that one claim refills several slots. */
const PAUSE_MS = 25;
const RENEW_MS = (CLAIM_SECONDS * 1_000) / 4;
/** How long running verifications may continue when the service closes. */
const CLOSE_MS = 5_000;

export interface VerificationRunnerDeps {
  readonly queue: VerificationQueue;
  readonly verify: VerifyKey;
  readonly log: Logger;
}

export interface VerificationRunner {
  /** Polls the queue soon, because something may be due. */
  wake(): void;
  /** Stops claiming, waits a few seconds for running verifications and returns the rest to the queue. */
  close(): Promise<void>;
}

/** Verifies due keys until closed. Another replica takes over claims that are not renewed. */
export function startVerificationRunner({ queue, verify, log }: VerificationRunnerDeps): VerificationRunner {
  const running = new Map<DueVerification, Promise<void>>();
  const accounts = new Map<string, number>();
  const closing = new AbortController();
  const aborting = new AbortController();
  let wake = (): void => {};

  function count(accountId: string, change: 1 | -1): void {
    const next = (accounts.get(accountId) ?? 0) + change;
    if (next === 0) accounts.delete(accountId);
    else accounts.set(accountId, next);
  }

  async function run(due: DueVerification): Promise<void> {
    try {
      const pause = await attempt(due);
      if (pause === undefined) await queue.complete(due);
      else await queue.postpone(due, pause, aborting.signal.aborted ? due.attempt : due.attempt + 1);
    } catch (error) {
      // The claim expires, and the key is verified again.
      log.warn(
        { err: error, connection: due.connectionId },
        "the result of a verification could not be stored; retrying",
      );
    } finally {
      running.delete(due);
      count(due.accountId, -1);
      wake();
    }
  }

  async function attempt(due: DueVerification): Promise<number | undefined> {
    try {
      return await verify(due, aborting.signal);
    } catch (error) {
      if (aborting.signal.aborted) return 0;
      log.warn({ err: error, connection: due.connectionId }, "a verification failed; retrying");
      return pauseSeconds(due.attempt);
    }
  }

  async function fill(priority: VerificationPriority, slots: number): Promise<void> {
    while (running.size < slots && !closing.signal.aborted) {
      const busy = [...accounts].filter(([, size]) => size >= BUSY_ACCOUNT).map(([accountId]) => accountId);
      const claimed = await queue.claim(priority, slots - running.size, busy);
      if (claimed.length === 0) return;
      for (const due of claimed) {
        count(due.accountId, 1);
        running.set(due, run(due));
      }
    }
  }

  async function work(): Promise<void> {
    while (!closing.signal.aborted) {
      const woken = Promise.withResolvers();
      wake = () => {
        woken.resolve(undefined);
      };
      try {
        for (const [priority, slots] of SLOTS) await fill(priority, slots);
      } catch (error) {
        log.warn({ err: error }, "due verifications could not be claimed; retrying");
      }
      await sleep(PAUSE_MS);
      const timer = setTimeout(wake, POLL_MS);
      await woken.promise;
      clearTimeout(timer);
    }
  }

  const renewal = setInterval(() => {
    if (running.size === 0) return;
    queue.renew([...running.keys()]).catch((error: unknown) => {
      log.warn({ err: error }, "claims of running verifications could not be renewed; another replica may repeat them");
    });
  }, RENEW_MS);
  const working = work();

  return {
    wake: () => {
      wake();
    },
    async close() {
      closing.abort();
      wake();
      await working;
      const timer = setTimeout(() => {
        aborting.abort();
      }, CLOSE_MS);
      await Promise.all(running.values());
      clearTimeout(timer);
      clearInterval(renewal);
    },
  };
}
