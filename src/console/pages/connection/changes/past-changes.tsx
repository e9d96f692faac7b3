import { Stack, Table, Title } from "@mantine/core";
import type { Schemas } from "../../../api/schemas.ts";
import { Moment } from "../../../parts/moment.tsx";
import { WideTable } from "../../../parts/wide-table.tsx";

/** Names per cell; the rest is counted. */
const SHOWN = 8;

function namesOf(tools: readonly string[]): string {
  const names = tools.slice(0, SHOWN).join(", ");
  return tools.length > SHOWN ? `${names} and ${tools.length - SHOWN} more` : names;
}

/** The added and removed tools of each change of the document. */
export function PastChanges({ changes }: { readonly changes: readonly Schemas["ToolChange"][] }) {
  if (changes.length === 0) return undefined;
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        So far
      </Title>
      <WideTable
        label="Past changes"
        columns={[{ head: "When", width: 190 }, "Came", "Went", "Changed"]}
        minWidth={620}
      >
        {changes.map(({ changed_at, added, removed, changed }) => (
          <Table.Tr key={changed_at}>
            <Table.Td>
              <Moment at={changed_at} exact />
            </Table.Td>
            <Table.Td>{namesOf(added)}</Table.Td>
            <Table.Td>{namesOf(removed)}</Table.Td>
            <Table.Td>{namesOf(changed)}</Table.Td>
          </Table.Tr>
        ))}
      </WideTable>
    </Stack>
  );
}
