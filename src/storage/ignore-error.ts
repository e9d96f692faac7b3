/** For errors of a connection that is being given up anyway, or whose loss shows elsewhere; says so where it is used. */
export function ignoreError(): void {
  // Nothing to do, by design.
}
