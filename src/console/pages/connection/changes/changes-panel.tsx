import { Alert, Button, Group, Stack, Text, Title } from "@mantine/core";
import { ApiError } from "../../../api/api-error.ts";
import type { Schemas } from "../../../api/schemas.ts";
import { EmptyState } from "../../../parts/empty-state.tsx";
import { ErrorNotice } from "../../../parts/error-notice.tsx";
import { RowsSkeleton } from "../../../parts/skeletons.tsx";
import { AcceptingSetting } from "./accepting.tsx";
import { PastChanges } from "./past-changes.tsx";
import { PendingChange } from "./pending-change.tsx";
import { useAcceptChanges, useToolChanges } from "./use-tool-changes.ts";

/** Rejected because the definition differs from the one shown. */
function isStale(error: unknown): boolean {
  return error instanceof ApiError && error.status === 412;
}

/** The changes of the tools, those that await review, and the setting for accepting them. */
export function ChangesPanel({
  id,
  accepting,
}: {
  readonly id: string;
  readonly accepting: Schemas["ConnectionDetails"]["accept_tool_changes"];
}) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useToolChanges(id);
  const accept = useAcceptChanges(id);
  const [first] = data?.pages ?? [];
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (data === undefined || first === undefined) return <RowsSkeleton />;
  const pending = data.pages.flatMap((page) => page.pending);
  const { pending_count: count, digest } = first;
  const accepted = accept.variables?.changes?.[0]?.tool;
  return (
    <Stack gap="xl">
      <Stack>
        {isStale(accept.error) && (
          <Alert color="yellow" role="alert" title="It changed once more">
            Nothing was accepted. The current proposals are below.
          </Alert>
        )}
        {accept.error !== null && !isStale(accept.error) && <ErrorNotice error={accept.error} />}
        {accept.data !== undefined && (
          <Text size="sm" role="status">
            In force now: {accept.data.data.accepted.join(", ")}
          </Text>
        )}
        {count === 0 && (
          <EmptyState title="No change waits">
            No changes. A changed tool is listed here until you accept it.
          </EmptyState>
        )}
        {count > 0 && (
          <Group justify="space-between">
            <Title order={2} size="h4">
              {count === 1 ? "1 change waits for you" : `${count} changes wait for you`}
            </Title>
            {count > 1 && (
              <Button
                loading={accept.isPending && accepted === undefined}
                disabled={accept.isPending}
                onClick={() => {
                  accept.mutate({ digest });
                }}
              >
                Accept all {count}
              </Button>
            )}
          </Group>
        )}
        {pending.map((change) => (
          <PendingChange
            key={`${change.tool} ${change.digest}`}
            change={change}
            isAccepting={accept.isPending && accepted === change.tool}
            isDisabled={accept.isPending}
            onAccept={() => {
              accept.mutate({ changes: [{ tool: change.tool, digest: change.digest }] });
            }}
          />
        ))}
        {hasNextPage && (
          <Button variant="default" w="fit-content" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            More changes
          </Button>
        )}
      </Stack>
      <AcceptingSetting id={id} current={accepting} />
      <PastChanges changes={first.data} />
    </Stack>
  );
}
