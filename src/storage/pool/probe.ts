/** Checks whether something responds. */
export type Probe = () => Promise<boolean>;

/**
 * Creates a probe that is cheap to call often: it runs one `look` at a time and caches the result for `freshMs`. A look
 * that takes longer than `boundMs` counts as a failure until it ends.
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
