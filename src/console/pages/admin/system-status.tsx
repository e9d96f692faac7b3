import { Paper, SimpleGrid, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { WideTable } from "../../parts/wide-table.tsx";

function Figure({ label, value }: { readonly label: string; readonly value: string | number }) {
  return (
    <Paper withBorder p="md">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text size="xl" fw={600}>
        {value}
      </Text>
    </Paper>
  );
}

export function SystemStatusPanel() {
  const { client } = useApi();
  const { data, error, refetch } = useQuery({
    queryKey: ["system"],
    queryFn: async () => (await bodyOf(client.GET("/api/v1/admin/status"))).data,
    refetchInterval: 10_000,
  });
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <RowsSkeleton />;
  return (
    <Stack>
      <SimpleGrid cols={{ base: 2, sm: 3, md: 4 }}>
        <Figure label="Version" value={data.version} />
        <Figure label="Notices of the database" value={data.listener_healthy ? "Arrive" : "Do not arrive"} />
        <Figure label="Accounts in use" value={data.accounts - data.disabled_accounts} />
        <Figure label="Connections" value={data.connections} />
        <Figure label="Keys that work" value={data.verified_connections} />
        <Figure label="Keys refused" value={data.failed_connections} />
        <Figure label="Sessions of agents" value={data.mcp_sessions} />
        <Figure label="Migrations" value={data.migrations} />
      </SimpleGrid>
      {data.queues.length === 0 && <Text c="dimmed">No work is waiting.</Text>}
      {data.queues.length > 0 && (
        <WideTable label="Queues" columns={["Queue", "Waiting", "At work", "Failed"]} minWidth={420}>
          {data.queues.map((queue) => (
            <Table.Tr key={queue.name}>
              <Table.Td>{queue.name}</Table.Td>
              <Table.Td>{queue.waiting}</Table.Td>
              <Table.Td>{queue.active}</Table.Td>
              <Table.Td>{queue.failed}</Table.Td>
            </Table.Tr>
          ))}
        </WideTable>
      )}
    </Stack>
  );
}
