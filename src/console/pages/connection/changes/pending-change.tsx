import { Badge, Button, Group, Paper, Stack, Text, Title } from "@mantine/core";
import type { Schemas } from "../../../api/schemas.ts";
import { Compared } from "./compared.tsx";

type Change = Schemas["PendingToolChange"];
type Definition = Schemas["ToolDefinition"];
type Part = Change["changed"][number];

/** The parts of a definition in words. */
const PARTS: Readonly<Record<Part, string>> = {
  description: "Description",
  input_schema: "Input",
  output_schema: "Output",
  read_only: "What it does",
  hints: "Marks",
  annotations: "Annotations",
  request: "Request",
  listing: "Listing",
};

/** With sorted keys, because a different order is not a change. */
function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function inJson(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value, sorted, 2);
}

/** One part of a definition as text; undefined if the definition does not have it. */
function textOf(part: Part, definition: Definition): string | undefined {
  switch (part) {
    case "description":
      return definition.description;
    case "read_only":
      return definition.read_only ? "Only reads" : "May write";
    case "request":
      return definition.request ?? "";
    case "input_schema":
      return inJson(definition.inputSchema);
    case "output_schema":
      return inJson(definition.outputSchema);
    case "hints":
    case "annotations":
      return inJson(definition.annotations);
    case "listing":
      return undefined;
  }
}

const JSON_PARTS: ReadonlySet<Part> = new Set(["input_schema", "output_schema", "hints", "annotations"]);

/** Read-only marks and annotations are one object on the wire, so they are shown once. */
function partsShown(changed: readonly Part[]): readonly Part[] {
  return changed.includes("hints") ? changed.filter((part) => part !== "annotations") : changed;
}

/** A tool with a proposed definition: the differences side by side, and the buttons for the review. */
export function PendingChange({
  change,
  isAccepting,
  isDisabled,
  onAccept,
}: {
  readonly change: Change;
  readonly isAccepting: boolean;
  readonly isDisabled: boolean;
  readonly onAccept: () => void;
}) {
  const { tool, changed, current: before, proposed: after } = change;
  return (
    <Paper withBorder p="md" component="section" aria-label={`Change of ${tool}`}>
      <Stack gap="md">
        <Group justify="space-between" align="flex-start">
          <Stack gap={4}>
            <Title order={3} size="h5" style={{ overflowWrap: "anywhere" }}>
              {tool}
            </Title>
            <Group gap={6}>
              {changed.map((part) => (
                <Badge key={part} variant="default" size="sm">
                  {PARTS[part]}
                </Badge>
              ))}
            </Group>
          </Stack>
          <Button
            size="xs"
            variant="default"
            loading={isAccepting}
            disabled={isDisabled}
            aria-label={`Accept the change of ${tool}`}
            onClick={onAccept}
          >
            Accept
          </Button>
        </Group>
        {partsShown(changed).map((part) => {
          const [old, next] = [textOf(part, before), textOf(part, after)];
          if (old === undefined || next === undefined) {
            return (
              <Text key={part} size="sm" c="dimmed">
                What else its server shows of it, such as its title or icons, is another too.
              </Text>
            );
          }
          return <Compared key={part} label={PARTS[part]} before={old} after={next} isJson={JSON_PARTS.has(part)} />;
        })}
      </Stack>
    </Paper>
  );
}
