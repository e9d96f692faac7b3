import { Button, Group, Stack, Table, Text } from "@mantine/core";
import { ConfirmButton } from "../../parts/confirm-button.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { Moment } from "../../parts/moment.tsx";
import { scopesInWords } from "../../parts/scopes.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { RotationReminder } from "./rotation-reminder.tsx";
import { useClients, useRevokeClient, useRotateSecret } from "./use-clients.ts";
import { WideTable } from "../../parts/wide-table.tsx";

/** OAuth clients, one per row. */
export function ClientsTable() {
  const { data, error, refetch } = useClients();
  const rotate = useRotateSecret();
  const revoke = useRevokeClient();
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <RowsSkeleton />;
  const failure = rotate.error ?? revoke.error;
  return (
    <Stack>
      {rotate.data !== undefined && <ShownOnce label="new secret" text={rotate.data.client_secret} />}
      {failure !== null && <ErrorNotice error={failure} />}
      {data.length === 0 && (
        <EmptyState title="No client yet">
          A client is a program that gets tokens by itself, or that people log in to.
        </EmptyState>
      )}
      {data.length > 0 && (
        <WideTable
          label="OAuth clients"
          columns={[
            { head: "Name", width: 240 },
            "What it may do",
            "Made",
            "Secret rotated",
            { head: "Change", width: 210 },
          ]}
          minWidth={820}
          spacing="sm"
        >
          {data.map((each) => (
            <Table.Tr key={each.client_id}>
              <Table.Td>
                <Text size="sm" fw={600}>
                  {each.name}
                </Text>
                <Text size="xs" c="dimmed">
                  {each.client_id}
                </Text>
                {each.has_secret && <RotationReminder since={each.secret_rotated_at ?? each.created_at} />}
              </Table.Td>
              <Table.Td>{scopesInWords(each.scopes)}</Table.Td>
              <Table.Td>
                <Moment at={each.created_at} />
              </Table.Td>
              <Table.Td>
                <Moment at={each.secret_rotated_at} />
              </Table.Td>
              <Table.Td>
                <Group gap="xs" wrap="nowrap">
                  {each.has_secret && (
                    <Button
                      size="compact-sm"
                      variant="default"
                      aria-label={`New secret for ${each.name}`}
                      loading={rotate.isPending && rotate.variables === each.client_id}
                      onClick={() => {
                        rotate.mutate(each.client_id);
                      }}
                    >
                      New secret
                    </Button>
                  )}
                  <ConfirmButton
                    label="Revoke"
                    ariaLabel={`Revoke ${each.name}`}
                    question={`“${each.name}” and all its tokens stop working at once. Revoke it?`}
                    onConfirm={() => {
                      revoke.mutate(each.client_id);
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
