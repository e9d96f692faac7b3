import { Badge, Button, Stack, Table, Text } from "@mantine/core";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { Moment } from "../../parts/moment.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { type ActivityFilter, useCalls } from "./use-activity.ts";
import { WideTable } from "../../parts/wide-table.tsx";

/** How a call ended, in words. */
export const OUTCOMES = {
  ok: { color: "teal", label: "Worked" },
  tool_error: { color: "orange", label: "Tool failed" },
  upstream_error: { color: "red", label: "Third party failed" },
  refused: { color: "gray", label: "Refused" },
  cancelled: { color: "gray", label: "Cancelled" },
} as const;

/** The calls behind the numbers, newest first. */
export function CallsTable({
  filter,
  connectionName,
}: {
  readonly filter: ActivityFilter;
  readonly connectionName: (id: number) => string;
}) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useCalls(filter);
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <RowsSkeleton />;
  const calls = data.pages.flatMap((page) => page.data);
  if (calls.length === 0) return <Text c="dimmed">No call is like that.</Text>;
  return (
    <Stack>
      <WideTable label="Calls" columns={["When", "Connection", "Tool", "Client", "Took", "Outcome"]} minWidth={760}>
        {calls.map((call) => (
          <Table.Tr key={call.id}>
            <Table.Td>
              <Moment at={call.started_at} exact />
            </Table.Td>
            <Table.Td>{connectionName(call.mcp_server_id)}</Table.Td>
            <Table.Td>{call.tool}</Table.Td>
            <Table.Td>{call.client_id}</Table.Td>
            <Table.Td>{call.duration_ms} ms</Table.Td>
            <Table.Td>
              <Badge variant="dot" color={OUTCOMES[call.outcome].color}>
                {OUTCOMES[call.outcome].label}
              </Badge>
            </Table.Td>
          </Table.Tr>
        ))}
      </WideTable>
      {hasNextPage && (
        <Button variant="default" w="fit-content" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Earlier calls
        </Button>
      )}
    </Stack>
  );
}
