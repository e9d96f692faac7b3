import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

/** Work that one replica has claimed. */
export interface AccountClaim {
  readonly accountId: string;
}

/** A kind of work, in order of priority. */
export interface ClaimSource<Claim> {
  /**
   * The number of running claims below which another one of this kind may start. Lower priorities leave slots free for
   * higher ones.
   */
  readonly slots: number;
  /** Claims at most `limit` due pieces of work, a few per account and none of `busy` accounts. */
  claim(limit: number, busy: readonly string[]): Promise<readonly Claim[]>;
}

export interface ClaimRunnerDeps<Claim> {
  readonly sources: readonly ClaimSource<Claim>[];
  /** An account with this many running claims gets no further slots. */
  readonly busyAccount: number;
  /** Lifetime of a claim in seconds; the runner renews it before it expires. */
  readonly claimSeconds: number;
  renew(claims: readonly Claim[]): Promise<void>;
  /** Must not throw, and should end soon after the signal aborts. */
  run(claim: Claim, signal: AbortSignal): Promise<void>;
  /** The name of the work in log lines, in the plural. */
  readonly what: string;
  readonly log: Logger;
}

export interface ClaimRunner {
  /** Polls soon, because something may be due. */
  wake(): void;
  /** Stops claiming, waits a few seconds for running work and aborts the rest. */
  close(): Promise<void>;
}

/** The polling interval while nothing wakes the runner. */
const POLL_MS = 500;
/** The shortest time between two claims, so that one claim refills several slots. */
const PAUSE_MS = 25;
/** How long running work may continue when the service closes. */
const CLOSE_MS = 5_000;

/** Runs due work of all accounts in turn until closed. Another replica takes over claims that are not renewed. */
export function startClaimRunner<Claim extends AccountClaim>(deps: ClaimRunnerDeps<Claim>): ClaimRunner {
  const { log, what } = deps;
  const running = new Map<Claim, Promise<void>>();
  const accounts = new Map<string, number>();
  const closing = new AbortController();
  const aborting = new AbortController();
  let wake = (): void => {};

  function count(accountId: string, change: 1 | -1): void {
    const next = (accounts.get(accountId) ?? 0) + change;
    if (next === 0) accounts.delete(accountId);
    else accounts.set(accountId, next);
  }

  async function run(claim: Claim): Promise<void> {
    try {
      await deps.run(claim, aborting.signal);
    } finally {
      running.delete(claim);
      count(claim.accountId, -1);
      wake();
    }
  }

  async function fill(source: ClaimSource<Claim>): Promise<void> {
    while (running.size < source.slots && !closing.signal.aborted) {
      const busy = [...accounts].filter(([, size]) => size >= deps.busyAccount).map(([accountId]) => accountId);
      const claimed = await source.claim(source.slots - running.size, busy);
      if (claimed.length === 0) return;
      for (const each of claimed) {
        count(each.accountId, 1);
        running.set(each, run(each));
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
        for (const source of deps.sources) await fill(source);
      } catch (error) {
        log.warn({ err: error }, `due ${what} could not be claimed; retrying`);
      }
      await sleep(PAUSE_MS);
      const timer = setTimeout(wake, POLL_MS);
      await woken.promise;
      clearTimeout(timer);
    }
  }

  const renewal = setInterval(
    () => {
      if (running.size === 0) return;
      deps.renew([...running.keys()]).catch((error: unknown) => {
        log.warn({ err: error }, `claims of running ${what} could not be renewed; another replica may repeat them`);
      });
    },
    (deps.claimSeconds * 1_000) / 4,
  );
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
