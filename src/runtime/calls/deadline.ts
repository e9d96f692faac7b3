import type { TimeLimit } from "../../time-limit.ts";

/** How work under a deadline ended other than by itself. */
export type Interruption = "timed_out" | "cancelled";

/** What came of work under a deadline. */
export type DeadlineOutcome<Result> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: Interruption };

/** What the deadline aborts work with. */
const TIMED_OUT = new Error("The deadline has passed.");

/**
 * Runs work until the limit is reached or somebody else aborts its controller; never rejects.
 *
 * Once aborted, the outcome is decided, whether the work heeds the signal or not. (One controller for all who may end it:
 * `AbortSignal.timeout` and `AbortSignal.any` cost a third of a call.)
 */
export function withDeadline<Result>(
  controller: AbortController,
  limit: TimeLimit,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<DeadlineOutcome<Result>> {
  const { signal } = controller;
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve({ kind: "cancelled" });
      return;
    }
    const stop = limit.start(() => controller.abort(TIMED_OUT));
    const settle = (outcome: DeadlineOutcome<Result>): void => {
      stop();
      resolve(outcome);
    };
    signal.addEventListener(
      "abort",
      () => settle({ kind: signal.reason === TIMED_OUT ? "timed_out" : "cancelled" }),
      ONCE,
    );
    let running: Promise<Result>;
    try {
      running = work(signal);
    } catch (error) {
      settle({ kind: "failed", error });
      return;
    }
    running.then(
      (result) => settle({ kind: "done", result }),
      (error: unknown) => settle({ kind: "failed", error }),
    );
  });
}

const ONCE = { once: true };

/** Runs work with a controller of its own, which is aborted when the signal is. */
export async function withLinkedController<Result>(
  signal: AbortSignal | undefined,
  work: (controller: AbortController) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal?.reason);
  if (signal?.aborted === true) abort();
  signal?.addEventListener("abort", abort, ONCE);
  try {
    return await work(controller);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}
