import { Badge, Box, Group, Stack, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "../../api/schemas.ts";
import { accessInWords, KeyBadge, StatusBadge } from "../../parts/connection-badges.tsx";
import { Initials } from "../../parts/initials.tsx";
import { Moment } from "../../parts/moment.tsx";
import { useIntegrationTitles } from "../connect/use-integrations.ts";
import { WideTable } from "../../parts/wide-table.tsx";
import { ErrorRate, LastUsed, UseInOneLine } from "./last-use.tsx";
import { useConnectionUsage } from "./use-connection-usage.ts";

/** Connections, one per row. */
export function ConnectionsTable({ connections }: { readonly connections: readonly Schemas["Connection"][] }) {
  const titleOf = useIntegrationTitles();
  const { data: usage } = useConnectionUsage();
  if (connections.length === 0) return <Text c="dimmed">No connection is like that.</Text>;
  return (
    <WideTable
      label="Connections"
      columns={[
        "Name",
        "Status",
        { head: "Key", isOptional: true },
        { head: "Access", isOptional: true },
        { head: "Last used", isOptional: true },
        { head: "Errors", isOptional: true },
        { head: "Connected", isOptional: true },
      ]}
      minWidth={760}
      spacing="sm"
    >
      {connections.map((each) => (
        <Table.Tr key={each.id}>
          <Table.Td>
            <Group gap="sm" wrap="nowrap">
              <Initials name={each.mcp_server_name} size="sm" />
              <Stack gap={0}>
                <Link to="/connections/$id" params={{ id: String(each.id) }} className="row-link">
                  {each.mcp_server_name}
                </Link>
                <Text size="xs" c="dimmed">
                  {titleOf(each.server_type)}
                </Text>
                <UseInOneLine usage={usage?.get(each.id)} />
                {each.pending_tool_changes !== undefined && (
                  <Badge size="sm" variant="dot" color="orange">
                    {each.pending_tool_changes === 1 ? "1 change waits" : `${each.pending_tool_changes} changes wait`}
                  </Badge>
                )}
              </Stack>
            </Group>
          </Table.Td>
          <Table.Td>
            {each.status !== undefined && <StatusBadge status={each.status} />}
            {each.api_key_verification_status !== "verified" && (
              <Box hiddenFrom="sm" mt={4}>
                <KeyBadge status={each.api_key_verification_status} />
              </Box>
            )}
          </Table.Td>
          <Table.Td visibleFrom="sm">
            <KeyBadge status={each.api_key_verification_status} />
          </Table.Td>
          <Table.Td visibleFrom="sm">{accessInWords(each.access_type)}</Table.Td>
          <Table.Td visibleFrom="sm">
            <LastUsed usage={usage?.get(each.id)} />
          </Table.Td>
          <Table.Td visibleFrom="sm">
            <ErrorRate usage={usage?.get(each.id)} />
          </Table.Td>
          <Table.Td visibleFrom="sm">
            <Moment at={each.created_at} />
          </Table.Td>
        </Table.Tr>
      ))}
    </WideTable>
  );
}
