import { Alert, Anchor, Drawer, Group, Stack, Table, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Schemas } from "../../api/schemas.ts";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import { Moment } from "../../parts/moment.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { ToolResult } from "../connection/tool-result.tsx";
import { OUTCOMES } from "./outcomes.ts";
import { useCallContents } from "./use-activity.ts";

type Call = Schemas["Call"];

const NUMBER = new Intl.NumberFormat();

function Facts({ call, connectionName }: { readonly call: Call; readonly connectionName: string }) {
  const facts: readonly (readonly [string, ReactNode])[] = [
    ["Connection", connectionName],
    ["Began", <Moment key="at" at={call.started_at} exact />],
    ["Took", `${NUMBER.format(call.duration_ms)} ms`],
    ["Outcome", OUTCOMES[call.outcome].label],
    ["Client", call.client_id],
    ["Arguments", `${NUMBER.format(call.request_bytes)} bytes`],
    ["Result", `${NUMBER.format(call.response_bytes)} bytes`],
  ];
  return (
    <Table variant="vertical" layout="fixed">
      <Table.Tbody>
        {facts.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th w={120} scope="row">
              {name}
            </Table.Th>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function Part({
  title,
  isCut,
  children,
}: {
  readonly title: string;
  readonly isCut: boolean;
  readonly children: ReactNode;
}) {
  return (
    <Stack gap="xs">
      <Group gap="xs" align="baseline">
        <Title order={3} size="h5">
          {title}
        </Title>
        {isCut && (
          <Text size="sm" c="dimmed">
            cut: it was larger than the 64 KiB that are kept
          </Text>
        )}
      </Group>
      {children}
    </Stack>
  );
}

function Contents({ call }: { readonly call: Call }) {
  const { data, error, refetch } = useCallContents(call);
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <RowsSkeleton rows={3} />;
  return (
    <>
      <Part title="Arguments" isCut={data.arguments_cut}>
        <JsonTree value={data.arguments} />
      </Part>
      <Part title="Result" isCut={data.result_cut}>
        {data.result === undefined ? <Text c="dimmed">There was none.</Text> : <ToolResult result={data.result} />}
      </Part>
      <Text size="sm" c="dimmed">
        Kept until <Moment at={data.kept_until} exact />.
      </Text>
    </>
  );
}

function NotKept({ call }: { readonly call: Call }) {
  return (
    <Alert title="What was said is not kept">
      Arguments and results are kept only while their connection is told to, and not for longer than it says.{" "}
      <Anchor
        renderRoot={(props) => (
          <Link
            {...props}
            to="/connections/$id"
            params={{ id: String(call.mcp_server_id) }}
            search={{ tab: "activity" }}
          />
        )}
        inherit
        underline="always"
      >
        See what this connection keeps
      </Anchor>
    </Alert>
  );
}

/** One call: its details, and its payloads if they are stored. */
export function CallDetails({
  call,
  opened,
  onClose,
  connectionName,
}: {
  /** The shown call, or the last one while the dialog closes. */
  readonly call: Call | undefined;
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly connectionName: (id: number) => string;
}) {
  return (
    <Drawer
      opened={opened}
      onClose={onClose}
      position="right"
      size="lg"
      title={`A call of ${call?.tool ?? "a tool"}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {call !== undefined && opened && (
        <Stack gap="lg">
          <Facts call={call} connectionName={connectionName(call.mcp_server_id)} />
          {call.contents_kept ? <Contents call={call} /> : <NotKept call={call} />}
        </Stack>
      )}
    </Drawer>
  );
}
