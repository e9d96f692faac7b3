/** Checks whether something responds. */
export type Probe = () => Promise<boolean>;

/**
 * Creates a probe that is cheap to call often: one `look` at a time, whose result is cached for `freshMs`. A look that
 * exceeds `boundMs` counts as a failure while it lasts.
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
