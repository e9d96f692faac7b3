import { Badge, Button, Stack, Table, Text, VisuallyHidden } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import type { Schemas } from "../../api/schemas.ts";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { Moment } from "../../parts/moment.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { CallDetails } from "./call-details.tsx";
import { OUTCOMES } from "./outcomes.ts";
import { type ActivityFilter, useCalls } from "./use-activity.ts";
import { WideTable } from "../../parts/wide-table.tsx";

/** The calls, newest first, each with its details. */
export function CallsTable({
  filter,
  connectionName,
}: {
  readonly filter: ActivityFilter;
  readonly connectionName: (id: number) => string;
}) {
  const [shown, setShown] = useState<Schemas["Call"]>();
  const [isOpen, { open, close }] = useDisclosure();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useCalls(filter);
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <RowsSkeleton />;
  const calls = data.pages.flatMap((page) => page.data);
  if (calls.length === 0) return <Text c="dimmed">No call is like that.</Text>;
  return (
    <Stack>
      <WideTable
        label="Calls"
        columns={["When", "Connection", "Tool", "Client", "Took", "Outcome", "Details"]}
        minWidth={920}
      >
        {calls.map((call) => (
          <Table.Tr key={call.id}>
            <Table.Td>
              <Moment at={call.started_at} exact />
            </Table.Td>
            <Table.Td>{connectionName(call.mcp_server_id)}</Table.Td>
            <Table.Td>{call.tool}</Table.Td>
            <Table.Td>
              <Text size="sm" maw={150} truncate title={call.client_id}>
                {call.client_id}
              </Text>
            </Table.Td>
            <Table.Td>{call.duration_ms} ms</Table.Td>
            <Table.Td>
              <Badge variant="dot" color={OUTCOMES[call.outcome].color}>
                {OUTCOMES[call.outcome].label}
              </Badge>
            </Table.Td>
            <Table.Td>
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => {
                  setShown(call);
                  open();
                }}
              >
                {call.contents_kept ? "What was said" : "Details"}
                <VisuallyHidden>
                  {" "}
                  in {call.tool}, call {call.id}
                </VisuallyHidden>
              </Button>
            </Table.Td>
          </Table.Tr>
        ))}
      </WideTable>
      {hasNextPage && (
        <Button variant="default" w="fit-content" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Earlier calls
        </Button>
      )}
      <CallDetails call={shown} opened={isOpen} onClose={close} connectionName={connectionName} />
    </Stack>
  );
}
