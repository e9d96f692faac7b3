import { Stack, Table, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import { ConfirmButton } from "../../parts/confirm-button.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { Moment } from "../../parts/moment.tsx";
import { scopesInWords } from "../../parts/scopes.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { WideTable } from "../../parts/wide-table.tsx";

const KEY = ["grants"];

/** Access that the reader granted to applications, one per row. */
export function GrantsTable({ connectionName }: { readonly connectionName: (id: number) => string }) {
  const { client } = useApi();
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: KEY,
    queryFn: async () => (await bodyOf(client.GET("/api/v1/grants"))).data,
  });
  const revoke = useMutation({
    mutationFn: (id: string) =>
      bodyOf(client.DELETE("/api/v1/grants/{grant_id}", { params: { path: { grant_id: id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  });
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <RowsSkeleton />;
  if (data.length === 0) {
    return (
      <EmptyState title="Nothing was allowed yet">
        Applications that you log in to Patchbay with appear here.
      </EmptyState>
    );
  }
  return (
    <Stack>
      {revoke.error !== null && <ErrorNotice error={revoke.error} />}
      <WideTable
        label="Applications"
        columns={["Application", "What it may do", "Reaches", "Last used", { head: "Change", width: 100 }]}
        minWidth={760}
        spacing="sm"
      >
        {data.map((grant) => (
          <Table.Tr key={grant.id}>
            <Table.Td>
              <Text size="sm" fw={600}>
                {grant.client_name === "" ? grant.client_id : grant.client_name}
              </Text>
              <Text size="xs" c="dimmed">
                {grant.redirect_uri}
              </Text>
            </Table.Td>
            <Table.Td>{scopesInWords(grant.scopes)}</Table.Td>
            <Table.Td>
              {grant.all_connections ? "All connections" : grant.mcp_server_ids.map(connectionName).join(", ")}
            </Table.Td>
            <Table.Td>
              <Moment at={grant.last_used_at} />
            </Table.Td>
            <Table.Td>
              <ConfirmButton
                label="Revoke"
                ariaLabel={`Revoke what ${grant.client_name} was allowed`}
                question={`“${grant.client_name}” stops working at once. Revoke what it was allowed?`}
                onConfirm={() => {
                  revoke.mutate(grant.id);
                }}
              />
            </Table.Td>
          </Table.Tr>
        ))}
      </WideTable>
    </Stack>
  );
}
