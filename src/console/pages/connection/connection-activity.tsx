import { Anchor, Group, Stack, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "../../api/schemas.ts";
import { CallsTable } from "../activity/calls-table.tsx";
import { KeepContents } from "./keep-contents.tsx";

/** Number of days shown here; the activity page shows more. */
const DAYS = 7;

/** The calls of one connection, and how long their payloads are stored. */
export function ConnectionActivity({
  id,
  details,
}: {
  readonly id: string;
  readonly details: Schemas["ConnectionDetails"];
}) {
  return (
    <Stack gap="xl">
      <Stack>
        <Group justify="space-between" align="baseline">
          <Title order={2} size="h4">
            Calls of the last {DAYS} days
          </Title>
          <Anchor
            renderRoot={(props) => <Link {...props} to="/activity" search={{ connection: id }} />}
            underline="always"
            size="sm"
          >
            Charts and filters
          </Anchor>
        </Group>
        <CallsTable
          filter={{ connection: id, tool: undefined, outcome: undefined, days: DAYS }}
          connectionName={() => details.name}
        />
      </Stack>
      <KeepContents id={id} days={details.keep_contents_days} />
    </Stack>
  );
}
