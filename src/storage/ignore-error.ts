/**
 * Ignores errors of a connection that is being closed, or whose loss is detected elsewhere. Each use states the reason.
 */
export function ignoreError(): void {
  // Intentionally empty.
}
