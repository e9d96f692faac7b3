/** Runs work with a new controller that is aborted together with the signal. */
export async function withLinkedController<Result>(
  signal: AbortSignal | undefined,
  work: (controller: AbortController) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal?.reason);
  if (signal?.aborted === true) abort();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    return await work(controller);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}
