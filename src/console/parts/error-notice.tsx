import { Alert, Button, Group, Text } from "@mantine/core";
import { ApiError, messageOf } from "../api/api-error.ts";

/** Whether a retry may help, according to the API. */
function whenAgain(error: unknown): string {
  const seconds = error instanceof ApiError && error.status === 429 ? error.retryAfterSeconds : undefined;
  if (seconds === undefined) return "";
  return ` Try again in ${seconds === 1 ? "a second" : `${seconds} seconds`}.`;
}

/** Shows an error, with a retry button if that may help. */
export function ErrorNotice({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  return (
    <Alert color="red" variant="light" title="This did not work" role="alert">
      <Group justify="space-between" align="flex-end">
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {messageOf(error)}
          {whenAgain(error)}
        </Text>
        {onRetry !== undefined && (
          <Button size="xs" variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  );
}
