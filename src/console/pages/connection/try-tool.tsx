import { Alert, Button, Drawer, Stack, Text } from "@mantine/core";
import { useState } from "react";
import type { Schemas } from "../../api/schemas.ts";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { LazySchemaForm } from "../../parts/schema-form/lazy-schema-form.tsx";
import { ToolResult } from "./tool-result.tsx";
import { useToolCall } from "./use-tool-call.ts";

type Tool = Schemas["Tool"];

function Trial({ connectionId, tool }: { readonly connectionId: string; readonly tool: Tool }) {
  const [input, setInput] = useState<Readonly<Record<string, unknown>>>({});
  const call = useToolCall(connectionId, tool.name);
  return (
    <Stack>
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {tool.description}
      </Text>
      {!tool.read_only && (
        <Alert color="yellow" title="This is no rehearsal">
          The tool may change data at the vendor.
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
  );
}

/** Calls a tool with a form of its input schema, and shows the result. */
export function TryTool({
  connectionId,
  tool,
  opened,
  onClose,
}: {
  readonly connectionId: string;
  /** The selected tool, or the last one while the dialog closes. */
  readonly tool: Tool | undefined;
  readonly opened: boolean;
  readonly onClose: () => void;
}) {
  return (
    <Drawer
      opened={opened}
      onClose={onClose}
      position="right"
      size="lg"
      title={`Try ${tool?.name ?? "a tool"}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {tool !== undefined && <Trial key={tool.id} connectionId={connectionId} tool={tool} />}
    </Drawer>
  );
}
