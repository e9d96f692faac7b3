/** Resolves with the value, or with `fallback` when the value takes longer than `waitMs`. Rejects as the value does. */
export async function withinMs<Value, Fallback>(
  waitMs: number,
  value: Promise<Value>,
  fallback: Fallback,
): Promise<Value | Fallback> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Fallback>((resolve) => {
    timer = setTimeout(() => resolve(fallback), waitMs);
  });
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}
