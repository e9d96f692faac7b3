import { Badge, Button, Group, Select, Stack, Table, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { Schemas } from "../../api/schemas.ts";
import { type ListedAuditAction, LISTED_AUDIT_ACTIONS } from "./audit-actions.ts";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { inWords } from "../../parts/in-words.ts";
import { Moment } from "../../parts/moment.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { WideTable } from "../../parts/wide-table.tsx";

function whoOf(event: Schemas["AuditEvent"]): string {
  return event.actor_client_id ?? event.actor_account_id ?? event.actor_kind;
}

/** The audit log of all accounts, newest first. */
export function AuditTable() {
  const { client } = useApi();
  const [action, setAction] = useState<ListedAuditAction | undefined>();
  const [actor, setActor] = useState("");
  const [filter] = useDebouncedValue({ action, actor: actor.trim() }, 250);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["audit", filter],
    queryFn: ({ pageParam }) =>
      bodyOf(
        client.GET("/api/v1/admin/audit-events", {
          params: {
            query: {
              limit: 50,
              ...(filter.action !== undefined && { action: filter.action }),
              ...(filter.actor !== "" && { actor: filter.actor }),
              ...(pageParam !== "" && { cursor: pageParam }),
            },
          },
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (last) => last.next_cursor,
  });
  const events = data?.pages.flatMap((page) => page.data);
  return (
    <Stack>
      <Group>
        <Select
          aria-label="Action"
          placeholder="Action, such as session.login"
          searchable
          clearable
          data={LISTED_AUDIT_ACTIONS}
          value={action ?? null}
          onChange={(word) => {
            setAction(LISTED_AUDIT_ACTIONS.find((known) => known === word));
          }}
          w={{ base: "100%", xs: 260 }}
        />
        <TextInput
          aria-label="Actor"
          placeholder="Account or client of who did it"
          value={actor}
          onChange={(event) => {
            setActor(event.currentTarget.value);
          }}
          w={{ base: "100%", xs: 260 }}
        />
      </Group>
      {error !== null && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {events === undefined && error === null && <RowsSkeleton />}
      {events?.length === 0 && <Text c="dimmed">No event is like that.</Text>}
      {events !== undefined && events.length > 0 && (
        <WideTable label="Audit log" columns={["When", "Action", "Who", "Object", "Changed", "From"]} minWidth={860}>
          {events.map((event) => (
            <Table.Tr key={event.id}>
              <Table.Td>
                <Moment at={event.occurred_at} exact />
              </Table.Td>
              <Table.Td>
                {event.action}{" "}
                {event.outcome === "refused" && (
                  <Badge size="sm" variant="dot" color="red">
                    Refused
                  </Badge>
                )}
              </Table.Td>
              <Table.Td>
                <Text size="sm" maw={150} truncate title={whoOf(event)}>
                  {whoOf(event)}
                </Text>
              </Table.Td>
              <Table.Td>
                <Text size="sm" maw={240} style={{ overflowWrap: "anywhere" }}>
                  {inWords(event.object_type)} {event.object_name === "" ? event.object_id : event.object_name}
                </Text>
              </Table.Td>
              <Table.Td>{event.changed.join(", ")}</Table.Td>
              <Table.Td title={event.user_agent}>{event.address}</Table.Td>
            </Table.Tr>
          ))}
        </WideTable>
      )}
      {hasNextPage && (
        <Button variant="default" w="fit-content" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Earlier events
        </Button>
      )}
    </Stack>
  );
}
