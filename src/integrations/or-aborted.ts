/** Awaits shared work, which continues for other callers if this caller aborts. Throws the signal's reason. */
export async function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, work]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
