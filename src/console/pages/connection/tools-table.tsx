import {
  Badge,
  Button,
  Checkbox,
  Group,
  Pagination,
  Select,
  Stack,
  Switch,
  Table,
  Text,
  TextInput,
  VisuallyHidden,
} from "@mantine/core";
import { useState } from "react";
import type { Schemas } from "../../api/schemas.ts";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { TryTool } from "./try-tool.tsx";
import { useTools } from "./use-tools.ts";
import { useUpdate } from "./use-update.ts";
import { WideTable } from "../../parts/wide-table.tsx";

type Tool = Schemas["Tool"];

/** Rows on a page of the table. */
const PAGE = 50;

function isWanted(tool: Tool, text: string, kind: string | null, category: string | null): boolean {
  if (kind !== null && (kind === "read") !== tool.read_only) return false;
  if (category !== null && tool.annotations.category !== category) return false;
  return `${tool.name} ${tool.description}`.toLowerCase().includes(text);
}

/** The tools of a connection: to be found, and switched on and off one by one or many at once. */
export function ToolsTable({ id, disabledTools }: { readonly id: string; readonly disabledTools: readonly number[] }) {
  const { data: tools, error, refetch } = useTools(id);
  const update = useUpdate(id);
  const [text, setText] = useState("");
  const [kind, setKind] = useState<string | null>(null);
  const [category, setCategory] = useState<string | null>(null);
  const [page, setPage] = useState(1);
  const [tried, setTried] = useState<Tool>();
  const [marked, setMarked] = useState<ReadonlySet<number>>(new Set());
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (tools === undefined) return <RowsSkeleton />;
  if (tools.length === 0) {
    return <Text c="dimmed">No tool is known yet. They come as soon as the third party has answered.</Text>;
  }
  // What is being saved is shown as saved; a refusal puts it back.
  const disabled = new Set(update.isPending ? (update.variables.disabled_tools ?? disabledTools) : disabledTools);
  const found = tools.filter((tool) => isWanted(tool, text.trim().toLowerCase(), kind, category));
  const shown = found.slice((page - 1) * PAGE, page * PAGE);
  const categories = [...new Set(tools.flatMap(({ annotations }) => annotations.category ?? []))].sort();

  function switchAll(ids: Iterable<number>, on: boolean): void {
    const next = new Set(disabled);
    for (const tool of ids) {
      if (on) next.delete(tool);
      else next.add(tool);
    }
    update.mutate({ disabled_tools: [...next].sort((one, other) => one - other) });
  }
  function mark(ids: readonly number[], on: boolean): void {
    const next = new Set(marked);
    for (const tool of ids) {
      if (on) next.add(tool);
      else next.delete(tool);
    }
    setMarked(next);
  }
  const allMarked = shown.length > 0 && shown.every((tool) => marked.has(tool.id));
  return (
    <Stack>
      <Group>
        <TextInput
          aria-label="Search tools"
          placeholder="Search tools"
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setPage(1);
          }}
          w={{ base: "100%", xs: 260 }}
        />
        <Select
          aria-label="Filter by what tools do"
          placeholder="Read and write"
          clearable
          value={kind}
          onChange={(next) => {
            setKind(next);
            setPage(1);
          }}
          data={[
            { value: "read", label: "Only read" },
            { value: "write", label: "Write" },
          ]}
          w={160}
        />
        {categories.length > 0 && (
          <Select
            aria-label="Filter by category"
            placeholder="Any category"
            clearable
            searchable
            value={category}
            onChange={(next) => {
              setCategory(next);
              setPage(1);
            }}
            data={categories}
            w={180}
          />
        )}
      </Group>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" role="status">
          {found.length} of {tools.length} tools, {tools.length - disabled.size} switched on
        </Text>
        {marked.size > 0 && (
          <Group gap="xs">
            <Button
              size="xs"
              variant="default"
              onClick={() => {
                switchAll(marked, true);
              }}
            >
              Switch {marked.size} on
            </Button>
            <Button
              size="xs"
              variant="default"
              onClick={() => {
                switchAll(marked, false);
              }}
            >
              Switch {marked.size} off
            </Button>
          </Group>
        )}
      </Group>
      {update.error !== null && <ErrorNotice error={update.error} />}
      <WideTable
        label="Tools"
        columns={[
          {
            head: (
              <Checkbox
                aria-label="Mark every tool of this page"
                checked={allMarked}
                onChange={(event) => {
                  mark(
                    shown.map((tool) => tool.id),
                    event.currentTarget.checked,
                  );
                }}
              />
            ),
            width: 40,
          },
          "Tool",
          { head: "Category", width: 130 },
          { head: "Does", width: 100 },
          { head: "On", width: 70 },
          { head: <VisuallyHidden>Try</VisuallyHidden>, width: 70 },
        ]}
        minWidth={680}
        spacing="xs"
      >
        {shown.map((tool) => (
          <Table.Tr key={tool.id}>
            <Table.Td>
              <Checkbox
                aria-label={`Mark ${tool.name}`}
                checked={marked.has(tool.id)}
                onChange={(event) => {
                  mark([tool.id], event.currentTarget.checked);
                }}
              />
            </Table.Td>
            <Table.Td>
              <Text size="sm" fw={600}>
                {tool.name}
              </Text>
              <Text size="xs" c="dimmed" lineClamp={2}>
                {tool.description}
              </Text>
            </Table.Td>
            <Table.Td>{tool.annotations.category}</Table.Td>
            <Table.Td>
              <Badge variant="dot" color={tool.read_only ? "teal" : "orange"}>
                {tool.read_only ? "Reads" : "Writes"}
              </Badge>
            </Table.Td>
            <Table.Td>
              <Switch
                aria-label={`${tool.name} is switched on`}
                checked={!disabled.has(tool.id)}
                onChange={(event) => {
                  switchAll([tool.id], event.currentTarget.checked);
                }}
              />
            </Table.Td>
            <Table.Td>
              <Button
                size="compact-xs"
                variant="default"
                aria-label={`Try ${tool.name}`}
                onClick={() => {
                  setTried(tool);
                }}
              >
                Try
              </Button>
            </Table.Td>
          </Table.Tr>
        ))}
      </WideTable>
      {found.length > PAGE && (
        <Pagination
          total={Math.ceil(found.length / PAGE)}
          value={page}
          onChange={setPage}
          getControlProps={(control) => ({ "aria-label": `${control} page` })}
        />
      )}
      {tried !== undefined && (
        <TryTool
          key={tried.id}
          connectionId={id}
          tool={tried}
          onClose={() => {
            setTried(undefined);
          }}
        />
      )}
    </Stack>
  );
}
