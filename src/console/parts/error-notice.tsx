import { Alert, Button, Group, Text } from "@mantine/core";
import { messageOf } from "../api/api-error.ts";

/** Says what went wrong, and offers to try again where that may help. */
export function ErrorNotice({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  return (
    <Alert color="red" variant="light" title="This did not work" role="alert">
      <Group justify="space-between" align="flex-end">
        <Text size="sm">{messageOf(error)}</Text>
        {onRetry !== undefined && (
          <Button size="xs" variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  );
}
