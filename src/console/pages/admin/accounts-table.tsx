import { Badge, Button, Group, Stack, Table, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import { ConfirmButton } from "../../parts/confirm-button.tsx";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { Moment } from "../../parts/moment.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { useSession } from "../../shell/use-session.ts";
import { WideTable } from "../../parts/wide-table.tsx";

/** Maximum number of accounts shown; the search narrows them down. */
const SHOWN = 100;

type Change = "disable" | "enable" | "end-sessions";

/** Every account, its state and its contents. */
export function AccountsTable() {
  const { client } = useApi();
  const queries = useQueryClient();
  const { data: session } = useSession();
  const [text, setText] = useState("");
  const [query] = useDebouncedValue(text.trim(), 250);
  const { data, error, refetch } = useQuery({
    queryKey: ["accounts", query],
    queryFn: () =>
      bodyOf(
        client.GET("/api/v1/admin/accounts", { params: { query: { limit: SHOWN, ...(query !== "" && { query }) } } }),
      ),
  });
  const change = useMutation({
    mutationFn: async ({ id, what }: { readonly id: string; readonly what: Change }) => {
      const params = { path: { account_id: id } };
      if (what === "disable") await bodyOf(client.POST("/api/v1/admin/accounts/{account_id}/disable", { params }));
      else if (what === "enable") await bodyOf(client.POST("/api/v1/admin/accounts/{account_id}/enable", { params }));
      else await bodyOf(client.POST("/api/v1/admin/accounts/{account_id}/end-sessions", { params }));
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["accounts"] }),
  });
  return (
    <Stack>
      <SearchInput label="Search accounts" placeholder="Search by e-mail address" value={text} onChange={setText} />
      {error !== null && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {change.error !== null && <ErrorNotice error={change.error} />}
      {data === undefined && error === null && <RowsSkeleton />}
      {data !== undefined && (
        <WideTable
          label="Accounts"
          columns={["Account", "Status", "Connections", "Made", { head: "Change", width: 240 }]}
          minWidth={760}
          spacing="sm"
        >
          {data.data.map((account) => (
            <Table.Tr key={account.id}>
              <Table.Td>
                <Text size="sm" fw={600}>
                  {account.email}
                </Text>
                <Text size="xs" c="dimmed">
                  {account.is_admin ? "Administrator" : account.id}
                </Text>
              </Table.Td>
              <Table.Td>
                <Badge variant="dot" color={account.status === "active" ? "teal" : "gray"}>
                  {account.status === "active" ? "Active" : "Disabled"}
                </Badge>
              </Table.Td>
              <Table.Td>{account.connection_count}</Table.Td>
              <Table.Td>
                <Moment at={account.created_at} />
              </Table.Td>
              <Table.Td>
                <Group gap="xs" wrap="nowrap">
                  <ConfirmButton
                    label="End sessions"
                    ariaLabel={`End sessions of ${account.email}`}
                    question={`${account.email} is logged out everywhere, and agents must open new sessions. End them?`}
                    onConfirm={() => {
                      change.mutate({ id: account.id, what: "end-sessions" });
                    }}
                  />
                  {account.status === "disabled" && (
                    <Button
                      size="compact-sm"
                      variant="default"
                      aria-label={`Enable ${account.email}`}
                      onClick={() => {
                        change.mutate({ id: account.id, what: "enable" });
                      }}
                    >
                      Enable
                    </Button>
                  )}
                  {account.status === "active" && account.email !== session?.email && (
                    <ConfirmButton
                      label="Disable"
                      ariaLabel={`Disable ${account.email}`}
                      question={`Nothing of ${account.email} works from then on, until it is enabled again. Disable it?`}
                      onConfirm={() => {
                        change.mutate({ id: account.id, what: "disable" });
                      }}
                    />
                  )}
                </Group>
              </Table.Td>
            </Table.Tr>
          ))}
        </WideTable>
      )}
      {data?.has_more === true && <Text size="sm">There are more. Search to find them.</Text>}
    </Stack>
  );
}
