/** How a wait is bounded. */
export interface Patience {
  /** How long at most, in milliseconds. */
  readonly withinMs?: number;
  /** The pause between two looks, in milliseconds. */
  readonly everyMs?: number;
  /** What is waited for, for the message of the failure. */
  readonly what?: string;
}

/** Looks again and again until `look` gives something else than undefined or false; fails after the bound with what it waited for. */
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
    if (Date.now() > end) throw new Error(`Waited ${withinMs} ms in vain for: ${what}`, { cause: failure });
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
