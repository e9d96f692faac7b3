import { Button, Group, Stack, Table, Text } from "@mantine/core";
import { ConfirmButton } from "../../parts/confirm-button.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { Moment } from "../../parts/moment.tsx";
import { scopesInWords } from "../../parts/scopes.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { RotationReminder } from "./rotation-reminder.tsx";
import { useRevokeToken, useRotateToken, useTokens } from "./use-tokens.ts";
import { WideTable } from "../../parts/wide-table.tsx";

/** Personal access tokens, one per row. */
export function TokensTable({ connectionName }: { readonly connectionName: (id: number) => string }) {
  const { data, error, refetch } = useTokens();
  const rotate = useRotateToken();
  const revoke = useRevokeToken();
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <RowsSkeleton />;
  const failure = rotate.error ?? revoke.error;
  return (
    <Stack>
      {rotate.data !== undefined && <ShownOnce label="new token" text={rotate.data.token} />}
      {failure !== null && <ErrorNotice error={failure} />}
      {data.length === 0 && (
        <EmptyState title="No token yet">
          A token is how a script or an agent that cannot log in gets to your tools.
        </EmptyState>
      )}
      {data.length > 0 && (
        <WideTable
          label="Personal access tokens"
          columns={[
            { head: "Name", width: 190 },
            "What it may do",
            "Reaches",
            "Last used",
            "Ends",
            { head: "Change", width: 170 },
          ]}
          minWidth={820}
          spacing="sm"
        >
          {data.map((token) => (
            <Table.Tr key={token.id}>
              <Table.Td>
                <Text size="sm" fw={600}>
                  {token.name === "" ? token.id : token.name}
                </Text>
                <RotationReminder since={token.created_at} />
              </Table.Td>
              <Table.Td>{scopesInWords(token.scopes)}</Table.Td>
              <Table.Td>
                {token.mcp_server_id === undefined ? "All connections" : connectionName(token.mcp_server_id)}
              </Table.Td>
              <Table.Td>
                <Moment at={token.last_used_at} />
              </Table.Td>
              <Table.Td>
                <Moment at={token.expires_at} />
              </Table.Td>
              <Table.Td>
                <Group gap="xs" wrap="nowrap">
                  <Button
                    size="compact-sm"
                    variant="default"
                    loading={rotate.isPending && rotate.variables === token.id}
                    aria-label={`Rotate ${token.name}`}
                    onClick={() => {
                      rotate.mutate(token.id);
                    }}
                  >
                    Rotate
                  </Button>
                  <ConfirmButton
                    label="Revoke"
                    ariaLabel={`Revoke ${token.name}`}
                    question={`Whatever uses “${token.name}” stops working at once. Revoke it?`}
                    onConfirm={() => {
                      revoke.mutate(token.id);
                    }}
                  />
                </Group>
              </Table.Td>
            </Table.Tr>
          ))}
        </WideTable>
      )}
    </Stack>
  );
}
