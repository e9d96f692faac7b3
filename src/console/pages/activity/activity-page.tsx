import { Button, Group, Select, Stack, Title } from "@mantine/core";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { PageHeader } from "../../parts/page-header.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { useConnections } from "../connections/use-connections.ts";
import { CallsTable } from "./calls-table.tsx";
import { OUTCOMES } from "./outcomes.ts";
import { useUsage } from "./use-activity.ts";
import { UsageCharts } from "./usage-charts.tsx";
import { UsageTable } from "./usage-table.tsx";

const SPANS = [
  { value: "1", label: "Last day" },
  { value: "7", label: "Last 7 days" },
  { value: "30", label: "Last 30 days" },
];

type Outcome = keyof typeof OUTCOMES;

const OUTCOME_WORDS: readonly Outcome[] = ["ok", "tool_error", "upstream_error", "refused", "cancelled"];

function toOutcome(word: string | undefined): Outcome | undefined {
  return OUTCOME_WORDS.find((each) => each === word);
}

/** Usage, and the calls behind it. The filter is part of the address. */
export function ActivityPage() {
  const search = useSearch({ from: "/activity" });
  const navigate = useNavigate({ from: "/activity" });
  const { data: connections } = useConnections();
  const filter = {
    connection: search.connection,
    tool: search.tool,
    outcome: toOutcome(search.outcome),
    days: Number(search.days ?? 7),
  };
  const byDay = useUsage(filter, "day");
  const byTool = useUsage(filter, "connection,tool");
  const nameOf = (id: number | undefined): string =>
    connections?.find((each) => each.id === id)?.mcp_server_name ?? `Connection ${id}`;
  const change = (part: Partial<Record<keyof typeof search, string | null>>): void => {
    const next = Object.entries({ ...search, ...part }).filter(([, value]) => value !== null);
    void navigate({ search: Object.fromEntries(next), replace: true });
  };
  const isUnused = byDay.data?.length === 0 && filter.connection === undefined && filter.tool === undefined;
  const error = byDay.error ?? byTool.error;
  const tools = [...new Set((byTool.data ?? []).flatMap(({ tool }) => tool ?? []))].sort();
  return (
    <>
      <PageHeader
        title="Activity"
        about="What agents called, and how it went. What was said is kept only where a connection is told to."
      />
      <Group mb="lg">
        <Select
          aria-label="Time"
          data={SPANS}
          value={search.days ?? "7"}
          allowDeselect={false}
          onChange={(days) => {
            change({ days });
          }}
          w={{ base: "100%", xs: 160 }}
        />
        <Select
          aria-label="Connection"
          placeholder="All connections"
          clearable
          searchable
          data={(connections ?? []).map((each) => ({ value: String(each.id), label: each.mcp_server_name }))}
          value={search.connection ?? null}
          onChange={(connection) => {
            change({ connection, tool: null });
          }}
          w={{ base: "100%", xs: 220 }}
        />
        <Select
          aria-label="Tool"
          placeholder="All tools"
          clearable
          searchable
          data={tools}
          value={search.tool ?? null}
          onChange={(tool) => {
            change({ tool });
          }}
          w={{ base: "100%", xs: 220 }}
        />
      </Group>
      {error !== null && <ErrorNotice error={error} onRetry={() => void byDay.refetch()} />}
      {byDay.data === undefined && error === null && <RowsSkeleton />}
      {isUnused && (
        <EmptyState
          title="Nothing was called in this time"
          action={
            <Button component={Link} to="/agents">
              Connect an agent
            </Button>
          }
        >
          What agents call is counted here, with how long it took and how it ended.
        </EmptyState>
      )}
      {!isUnused && (
        <Stack gap="xl">
          {byDay.data !== undefined && <UsageCharts days={byDay.data} />}
          {byDay.data !== undefined && byDay.data.length > 0 && (
            <UsageTable label="Day" rows={byDay.data} nameOf={({ day }) => day ?? ""} />
          )}
          {byTool.data !== undefined && byTool.data.length > 0 && (
            <UsageTable
              label="Tool"
              rows={byTool.data}
              nameOf={({ mcp_server_id, tool }) => `${nameOf(mcp_server_id)} · ${tool ?? ""}`}
            />
          )}
          <Stack>
            <Group justify="space-between">
              <Title order={2} size="h4">
                Calls
              </Title>
              <Select
                aria-label="Outcome"
                placeholder="Any outcome"
                clearable
                data={Object.entries(OUTCOMES).map(([value, { label }]) => ({ value, label }))}
                value={search.outcome ?? null}
                onChange={(outcome) => {
                  change({ outcome });
                }}
              />
            </Group>
            <CallsTable filter={filter} connectionName={nameOf} />
          </Stack>
        </Stack>
      )}
    </>
  );
}
