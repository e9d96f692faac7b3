import { DomainError } from "../../domain-error.ts";
import type { CallTimes, PassedLimit } from "./call-times.ts";

export type DeadlineOutcome<Result> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "timed_out"; readonly limit: PassedLimit }
  | { readonly kind: "cancelled"; readonly reason: unknown };

/** The caller did not end the call, so the caller gets an error that says why the call ended. */
class CallStopped extends DomainError {
  constructor() {
    super(
      "unavailable",
      "The service is stopping and ended the call. Whether the call took effect is not known; check before you repeat it.",
    );
    this.name = "CallStopped";
  }
}

/** Why the calls of a deleted connection end. */
class ConnectionDeleted extends DomainError {
  constructor() {
    super("not_found", "The connection was deleted, which ended the call. Whether the call took effect is not known.");
    this.name = "ConnectionDeleted";
  }
}

/** Pauses the time limits of a call until the returned function is called. */
export type PauseLimits = () => () => void;

/** The upstream calls that this replica waits for. */
export interface RunningCalls {
  /**
   * Runs work until a time limit expires or the controller is aborted. Never rejects. The outcome does not depend on
   * whether the work observes the signal. `onProgress` starts the idle time again; `pause` stops both limits until the
   * function that it returns is called once.
   */
  run<Result>(
    controller: AbortController,
    connectionId: number,
    times: CallTimes,
    work: (signal: AbortSignal, onProgress: () => void, pause: PauseLimits) => Promise<Result>,
  ): Promise<DeadlineOutcome<Result>>;
  /** Ends the calls of a deleted connection with `not_found`. */
  endConnection(connectionId: number): void;
  /** Aborts all calls with CallStopped, including those that begin later. */
  stop(): void;
}

const PASSED: Readonly<Record<PassedLimit, Error>> = {
  idle: new Error("The call made no progress."),
  max: new Error("The call took too long."),
};

const ONCE = { once: true };

/**
 * All cancellations of a call share one controller, because `AbortSignal.timeout` and `AbortSignal.any` take a third of
 * the CPU time of a call; and both limits share one timer, which progress does not touch.
 */
export function createRunningCalls(): RunningCalls {
  const running = new Map<AbortController, number>();
  let isStopped = false;

  return {
    run<Result>(
      controller: AbortController,
      connectionId: number,
      times: CallTimes,
      work: (signal: AbortSignal, onProgress: () => void, pause: PauseLimits) => Promise<Result>,
    ): Promise<DeadlineOutcome<Result>> {
      const { signal } = controller;
      return new Promise((resolve) => {
        if (isStopped) controller.abort(new CallStopped());
        if (signal.aborted) {
          resolve({ kind: "cancelled", reason: signal.reason });
          return;
        }
        let startedMs = performance.now();
        let progressMs = startedMs;
        let pauses = 0;
        let pausedMs = 0;
        const pause: PauseLimits = () => {
          if (pauses === 0) pausedMs = performance.now();
          pauses += 1;
          return () => {
            pauses -= 1;
            if (pauses > 0) return;
            progressMs = performance.now();
            startedMs += progressMs - pausedMs;
          };
        };
        const check = (): void => {
          if (pauses > 0) {
            timer = setTimeout(check, times.idleMs).unref();
            return;
          }
          const now = performance.now();
          const idleEndMs = progressMs + times.idleMs;
          const endMs = startedMs + times.maxMs;
          const leftMs = Math.ceil(Math.min(idleEndMs, endMs) - now);
          if (leftMs > 0) timer = setTimeout(check, leftMs).unref();
          else controller.abort(PASSED[endMs <= now ? "max" : "idle"]);
        };
        let timer = setTimeout(check, Math.min(times.idleMs, times.maxMs)).unref();
        running.set(controller, connectionId);
        const settle = (outcome: DeadlineOutcome<Result>): void => {
          clearTimeout(timer);
          running.delete(controller);
          resolve(outcome);
        };
        signal.addEventListener(
          "abort",
          () => {
            const reason: unknown = signal.reason;
            if (reason === PASSED.idle || reason === PASSED.max)
              settle({ kind: "timed_out", limit: reason === PASSED.idle ? "idle" : "max" });
            else settle({ kind: "cancelled", reason });
          },
          ONCE,
        );
        let result: Promise<Result>;
        try {
          result = work(signal, () => (progressMs = performance.now()), pause);
        } catch (error) {
          settle({ kind: "failed", error });
          return;
        }
        result.then(
          (done) => settle({ kind: "done", result: done }),
          (error: unknown) => settle({ kind: "failed", error }),
        );
      });
    },

    endConnection(connectionId) {
      for (const [controller, id] of running) if (id === connectionId) controller.abort(new ConnectionDeleted());
    },

    stop() {
      isStopped = true;
      for (const controller of running.keys()) controller.abort(new CallStopped());
    },
  };
}
