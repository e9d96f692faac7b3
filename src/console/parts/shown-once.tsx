import { Alert, Stack, Text } from "@mantine/core";
import { CopyText } from "./copy-text.tsx";

/** A secret that is shown only once. */
export function ShownOnce({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <Alert color="teal" title={`Copy the ${label} now`} role="status">
      <Stack gap="xs">
        <Text size="sm">It is shown this once, and kept nowhere.</Text>
        <CopyText label={label} text={text} />
      </Stack>
    </Alert>
  );
}
