/** Looks whether something answers. */
export type Probe = () => Promise<boolean>;

/**
 * Makes a probe that costs little however often it is asked: one `look` at a time, and its outcome counts for `freshMs`.
 * A look that takes longer than `boundMs` counts as no answer for as long as it lasts.
 */
export function createProbe(
  look: () => Promise<unknown>,
  { boundMs, freshMs }: { readonly boundMs: number; readonly freshMs: number },
): Probe {
  let current: Promise<boolean> | undefined;

  function start(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => {
      resolve(false);
    }, boundMs).unref();
    const settle = (isAnswered: boolean): void => {
      clearTimeout(timer);
      resolve(isAnswered);
      setTimeout(() => {
        current = undefined;
      }, freshMs).unref();
    };
    look().then(
      () => {
        settle(true);
      },
      () => {
        settle(false);
      },
    );
    return promise;
  }

  return () => (current ??= start());
}
