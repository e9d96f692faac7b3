import { ErrorNotice } from "../parts/error-notice.tsx";

/** For a page that failed to load or to draw. */
export function PageError({ error, reset }: { readonly error: unknown; readonly reset: () => void }) {
  return <ErrorNotice error={error} onRetry={reset} />;
}
