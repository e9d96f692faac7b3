/** How work under a deadline ended other than by itself. */
export type Interruption = "timed_out" | "cancelled";

/** What came of work under a deadline. */
export type Outcome<Result> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: Interruption };

/**
 * Runs work for at most `timeoutMs` and for as long as the caller waits; never rejects.
 *
 * The work's own signal is aborted when either ends, and its outcome is then decided, whether it heeds the signal or not.
 * (One timer and one controller: `AbortSignal.timeout` and `AbortSignal.any` cost a third of a call.)
 */
export function withDeadline<Result>(
  caller: AbortSignal | undefined,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Outcome<Result>> {
  return new Promise((resolve) => {
    if (caller?.aborted === true) {
      resolve({ kind: "cancelled" });
      return;
    }
    const controller = new AbortController();
    const settle = (outcome: Outcome<Result>): void => {
      clearTimeout(timer);
      caller?.removeEventListener("abort", cancel);
      resolve(outcome);
    };
    const interrupt = (kind: Interruption): void => {
      settle({ kind });
      controller.abort();
    };
    const cancel = (): void => interrupt("cancelled");
    const timer = setTimeout(() => interrupt("timed_out"), timeoutMs);
    caller?.addEventListener("abort", cancel, { once: true });
    let running: Promise<Result>;
    try {
      running = work(controller.signal);
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
