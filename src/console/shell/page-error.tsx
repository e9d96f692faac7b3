import { ErrorNotice } from "../parts/error-notice.tsx";

/** Shown if a page fails to load or render. */
export function PageError({ error, reset }: { readonly error: unknown; readonly reset: () => void }) {
  return <ErrorNotice error={error} onRetry={reset} />;
}
