import { Button, Code, CopyButton, Group, Paper } from "@mantine/core";

/** A text with a button that copies it. */
export function CopyText({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <Paper withBorder p="xs">
      <Group justify="space-between" align={text.includes("\n") ? "flex-start" : "center"} wrap="nowrap">
        <Code block className="code" p={6} tabIndex={0} aria-label={label} bg="transparent" flex={1}>
          {text}
        </Code>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button size="xs" variant="default" onClick={copy} aria-label={`Copy ${label}`}>
              {copied ? "Copied" : "Copy"}
            </Button>
          )}
        </CopyButton>
      </Group>
    </Paper>
  );
}
