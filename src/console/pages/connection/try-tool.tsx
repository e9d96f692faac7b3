import { Alert, Button, Drawer, Stack, Text } from "@mantine/core";
import { useState } from "react";
import type { Schemas } from "../../api/schemas.ts";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { LazySchemaForm } from "../../parts/schema-form/lazy-schema-form.tsx";
import { ToolResult } from "./tool-result.tsx";
import { useToolCall } from "./use-tool-call.ts";

/** Tries a tool for real: a form from its input schema, and what it answers. */
export function TryTool({
  connectionId,
  tool,
  onClose,
}: {
  readonly connectionId: string;
  readonly tool: Schemas["Tool"];
  readonly onClose: () => void;
}) {
  const [input, setInput] = useState<Readonly<Record<string, unknown>>>({});
  const call = useToolCall(connectionId, tool.name);
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={`Try ${tool.name}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack>
        <Text size="sm">{tool.description}</Text>
        {!tool.read_only && (
          <Alert color="yellow" title="This is no rehearsal">
            The tool may change things at the third party.
          </Alert>
        )}
        <LazySchemaForm
          schema={tool.inputSchema}
          value={input}
          onChange={setInput}
          onSubmit={(value) => {
            call.mutate(value);
          }}
        >
          <Button type="submit" mt="md" loading={call.isPending}>
            Call
          </Button>
        </LazySchemaForm>
        {call.error !== null && <ErrorNotice error={call.error} />}
        {call.data !== undefined && <ToolResult result={call.data} />}
      </Stack>
    </Drawer>
  );
}
