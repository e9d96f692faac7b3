import { Badge, Stack, Table } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import { ConfirmButton } from "../../parts/confirm-button.tsx";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { Moment } from "../../parts/moment.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { WideTable } from "../../parts/wide-table.tsx";

const KEY = ["signing-keys"];

const STATES = {
  next: { color: "blue", label: "Next" },
  current: { color: "teal", label: "Signs" },
  retired: { color: "gray", label: "Verifies only" },
} as const;

const PURPOSES = { access_token: "Access tokens", personal_access_token: "Personal access tokens" } as const;

/** The signing keys and their rotation. */
export function SigningKeysPanel() {
  const { client } = useApi();
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: KEY,
    queryFn: async () => (await bodyOf(client.GET("/api/v1/admin/signing-keys"))).data,
  });
  const rotate = useMutation({
    mutationFn: () => bodyOf(client.POST("/api/v1/admin/signing-keys/rotate")),
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  });
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <RowsSkeleton />;
  return (
    <Stack>
      {rotate.error !== null && <ErrorNotice error={rotate.error} />}
      <WideTable label="Signing keys" columns={["Key", "For", "State", "Made"]} minWidth={640}>
        {data.map((key) => (
          <Table.Tr key={key.id}>
            <Table.Td>{key.id}</Table.Td>
            <Table.Td>{PURPOSES[key.purpose]}</Table.Td>
            <Table.Td>
              <Badge variant="dot" color={STATES[key.state].color}>
                {STATES[key.state].label}
              </Badge>
            </Table.Td>
            <Table.Td>
              <Moment at={key.created_at} />
            </Table.Td>
          </Table.Tr>
        ))}
      </WideTable>
      <div>
        <ConfirmButton
          label="Rotate the key of access tokens"
          question="The next key signs access tokens from now on; those of the present one stay good until they end. Rotate?"
          loading={rotate.isPending}
          onConfirm={() => {
            rotate.mutate();
          }}
        />
      </div>
    </Stack>
  );
}
