import { Badge, Button, Checkbox, Group, Switch, Table, Text } from "@mantine/core";
import { memo } from "react";
import type { Schemas } from "../../api/schemas.ts";
import { Breakable } from "../../parts/breakable.tsx";
import { inWords } from "../../parts/in-words.ts";

/** Actions for a tool of the table. */
export interface ToolActions {
  readonly mark: (tools: readonly number[], on: boolean) => void;
  readonly switchAll: (tools: Iterable<number>, on: boolean) => void;
  readonly tryOut: (tool: Schemas["Tool"]) => void;
}

function Row({
  tool,
  isMarked,
  isOn,
  actions,
}: {
  readonly tool: Schemas["Tool"];
  readonly isMarked: boolean;
  readonly isOn: boolean;
  readonly actions: ToolActions;
}) {
  return (
    <Table.Tr>
      <Table.Td visibleFrom="sm">
        <Checkbox
          aria-label={`Mark ${tool.name}`}
          checked={isMarked}
          onChange={(event) => {
            actions.mark([tool.id], event.currentTarget.checked);
          }}
        />
      </Table.Td>
      <Table.Td>
        <Group gap="xs">
          <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
            <Breakable name={tool.name} />
          </Text>
          {tool.change_pending === true && (
            <Badge size="sm" variant="dot" color="orange">
              Change waits
            </Badge>
          )}
        </Group>
        <Text size="xs" c="dimmed" lineClamp={2}>
          {tool.description}
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="sm">
        {tool.annotations.category !== undefined && inWords(tool.annotations.category)}
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <Badge variant="dot" color={tool.read_only ? "teal" : "orange"}>
          {tool.read_only ? "Reads" : "Writes"}
        </Badge>
      </Table.Td>
      <Table.Td>
        <Switch
          aria-label={`${tool.name} is switched on`}
          checked={isOn}
          onChange={(event) => {
            actions.switchAll([tool.id], event.currentTarget.checked);
          }}
        />
      </Table.Td>
      <Table.Td>
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Try ${tool.name}`}
          onClick={() => {
            actions.tryOut(tool);
          }}
        >
          Try
        </Button>
      </Table.Td>
    </Table.Tr>
  );
}

/** One tool, rendered again only when its own data changes. */
export const ToolRow = memo(Row);
