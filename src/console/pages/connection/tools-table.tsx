import { Button, Checkbox, Group, Pagination, Stack, Text, VisuallyHidden } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useDeferredValue, useMemo, useState } from "react";
import type { Schemas } from "../../api/schemas.ts";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { WideTable } from "../../parts/wide-table.tsx";
import { ToolRow } from "./tool-row.tsx";
import { ANY_TOOL, findTools, ToolsFilter } from "./tools-filter.tsx";
import { TryTool } from "./try-tool.tsx";
import { useSwitchTools, withSome } from "./use-tool-actions.ts";
import { useTools } from "./use-tools.ts";

/** Rows per page. */
const PAGE = 50;

const NO_TOOLS: readonly Schemas["Tool"][] = [];

/** The tools of a connection, with search and switches for one or many tools. */
export function ToolsTable({ id, disabledTools }: { readonly id: string; readonly disabledTools: readonly number[] }) {
  const { data: tools = NO_TOOLS, isPending, error, refetch } = useTools(id);
  const { switchAll, error: refusal } = useSwitchTools(id);
  const [wanted, setWanted] = useState(ANY_TOOL);
  const [page, setPage] = useState(1);
  const [tried, setTried] = useState<Schemas["Tool"]>();
  const [isTrying, { open, close }] = useDisclosure();
  const [marked, setMarked] = useState<ReadonlySet<number>>(new Set());
  // The input stays responsive; the rows follow.
  const wantedInRows = useDeferredValue(wanted);
  const found = useMemo(() => findTools(tools, wantedInRows), [tools, wantedInRows]);
  const actions = useMemo(
    () => ({
      switchAll,
      mark(some: readonly number[], isMarked: boolean) {
        setMarked((before) => withSome(before, some, isMarked));
      },
      tryOut(tool: Schemas["Tool"]) {
        setTried(tool);
        open();
      },
    }),
    [switchAll, open],
  );
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (isPending) return <RowsSkeleton />;
  if (tools.length === 0) {
    return <Text c="dimmed">No tools yet. They appear as soon as the vendor has responded.</Text>;
  }
  const disabled = new Set(disabledTools);
  const shown = found.slice((page - 1) * PAGE, page * PAGE);
  const on = tools.filter((tool) => !disabled.has(tool.id)).length;
  return (
    <Stack>
      <ToolsFilter
        tools={tools}
        wanted={wanted}
        onChange={(next) => {
          setWanted(next);
          setPage(1);
        }}
      />
      <Group justify="space-between" mih={30}>
        <Text size="sm" c="dimmed" role="status">
          {found.length} of {tools.length} tools, {on} switched on
        </Text>
        {marked.size > 0 && (
          <Group gap="xs">
            {[true, false].map((isOn) => (
              <Button
                key={String(isOn)}
                size="xs"
                variant="default"
                onClick={() => {
                  switchAll(marked, isOn);
                }}
              >
                Switch {marked.size} {isOn ? "on" : "off"}
              </Button>
            ))}
          </Group>
        )}
      </Group>
      {refusal !== null && <ErrorNotice error={refusal} />}
      {found.length === 0 && <Text c="dimmed">No tool is like that.</Text>}
      {found.length > 0 && (
        <WideTable
          label="Tools"
          columns={[
            {
              head: (
                <Checkbox
                  aria-label="Mark every tool of this page"
                  checked={shown.every((tool) => marked.has(tool.id))}
                  onChange={(event) => {
                    actions.mark(
                      shown.map((tool) => tool.id),
                      event.currentTarget.checked,
                    );
                  }}
                />
              ),
              width: 40,
              isOptional: true,
            },
            "Tool",
            { head: "Category", width: 130, isOptional: true },
            { head: "Does", width: 110, isOptional: true },
            { head: "On", width: 70 },
            { head: <VisuallyHidden>Try</VisuallyHidden>, width: 70 },
          ]}
          minWidth={680}
          spacing="xs"
        >
          {shown.map((tool) => (
            <ToolRow
              key={tool.id}
              tool={tool}
              isMarked={marked.has(tool.id)}
              isOn={!disabled.has(tool.id)}
              actions={actions}
            />
          ))}
        </WideTable>
      )}
      {found.length > PAGE && (
        <Pagination
          total={Math.ceil(found.length / PAGE)}
          value={page}
          onChange={setPage}
          getControlProps={(control) => ({ "aria-label": `${control} page` })}
        />
      )}
      <TryTool connectionId={id} tool={tried} opened={isTrying} onClose={close} />
    </Stack>
  );
}
