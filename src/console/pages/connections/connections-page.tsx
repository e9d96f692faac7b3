import { Button, Group, Select } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { PageHeader } from "../../parts/page-header.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { ConnectionsTable } from "./connections-table.tsx";
import { useConnections } from "./use-connections.ts";

const STATUSES = [
  { value: "active", label: "Active" },
  { value: "disabled", label: "Agents off" },
  { value: "needs_authorization", label: "Needs authorization" },
  { value: "error", label: "Error" },
];

/** All connections of the account, with search and filters. */
export function ConnectionsPage() {
  const { data, error, refetch } = useConnections();
  const [text, setText] = useState("");
  const [status, setStatus] = useState<string | null>(null);
  const add = (
    <Button component={Link} to="/connections/new">
      Connect
    </Button>
  );
  const wanted = text.trim().toLowerCase();
  const shown = data?.filter(
    (each) =>
      (status === null || each.status === status) &&
      `${each.mcp_server_name} ${each.server_type ?? ""}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      <PageHeader title="Connections" about="What your agents can reach, and how far." actions={add} />
      {error !== null && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <RowsSkeleton />}
      {data?.length === 0 && (
        <EmptyState title="Nothing is connected yet" action={add}>
          Connect a SaaS product, a remote MCP server or any API with an OpenAPI document. Its tools are then at one URL
          for all your agents.
        </EmptyState>
      )}
      {data !== undefined && data.length > 0 && (
        <>
          <Group mb="md">
            <SearchInput
              label="Search connections"
              placeholder="Search by name or integration"
              value={text}
              onChange={setText}
            />
            <Select
              aria-label="Filter by status"
              placeholder="Any status"
              data={STATUSES}
              value={status}
              onChange={setStatus}
              clearable
              w={{ base: "100%", xs: 170 }}
            />
          </Group>
          <ConnectionsTable connections={shown ?? []} />
        </>
      )}
    </>
  );
}
