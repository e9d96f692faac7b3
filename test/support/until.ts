export interface Patience {
  /** The time limit, in milliseconds. */
  readonly withinMs?: number;
  /** The pause between two checks, in milliseconds. */
  readonly everyMs?: number;
  /** The awaited state, for the error message. */
  readonly what?: string;
}

/** Repeats `look` until it returns something other than undefined or false. Throws after the time limit. */
export async function until<Result>(
  look: () => Promise<Result | undefined | false>,
  patience: Patience = {},
): Promise<Result> {
  const { withinMs = 20_000, everyMs = 25, what = look.toString() } = patience;
  const end = Date.now() + withinMs;
  let failure: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
      failure = undefined;
    } catch (error) {
      failure = error;
    }
    if (Date.now() > end) throw new Error(`Timed out after ${withinMs} ms waiting for: ${what}`, { cause: failure });
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
