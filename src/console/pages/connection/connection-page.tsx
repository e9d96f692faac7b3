import { Anchor, Badge, Group, Switch, Tabs, Text } from "@mantine/core";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { ApiError } from "../../api/api-error.ts";
import { KeyBadge, StatusBadge } from "../../parts/connection-badges.tsx";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { PageHeader } from "../../parts/page-header.tsx";
import { PageSkeleton } from "../../parts/skeletons.tsx";
import { useIntegrationTitles } from "../connect/use-integrations.ts";
import { AccessLevel } from "./access-level.tsx";
import { Authorization } from "./authorization.tsx";
import { LazyChangesPanel } from "./changes/lazy-changes-panel.tsx";
import { ConnectionActivity } from "./connection-activity.tsx";
import { ConnectionAlias } from "./connection-alias.tsx";
import { DeleteConnection } from "./delete-connection.tsx";
import { ReplaceKey } from "./replace-key.tsx";
import { StatusNotice } from "./status-notice.tsx";
import { ToolsTable } from "./tools-table.tsx";
import { useConnection } from "./use-connection.ts";
import { useUpdate } from "./use-update.ts";

function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** One connection: its tools, access, key and deletion. The open tab is part of the address. */
export function ConnectionDetailsPage() {
  const { id } = useParams({ from: "/connections/$id" });
  const { tab } = useSearch({ from: "/connections/$id" });
  const navigate = useNavigate({ from: "/connections/$id" });
  const { data, error, refetch } = useConnection(id);
  const update = useUpdate(id);
  const titleOf = useIntegrationTitles();
  // Data stays visible while reloading fails, unless the connection is deleted.
  if (error !== null && (data === undefined || isGone(error))) {
    return (
      <>
        <PageHeader title="Connection" />
        <ErrorNotice error={error} onRetry={() => void refetch()} />
        <Anchor component={Link} to="/connections" mt="md" display="inline-block">
          To the connections
        </Anchor>
      </>
    );
  }
  if (data === undefined) return <PageSkeleton />;
  const { listed, details } = data;
  const waiting = details.pending_tool_changes;
  return (
    <>
      <PageHeader
        title={details.name}
        about={details.description === "" ? undefined : details.description}
        actions={
          <Switch
            label="Agents may use it"
            checked={listed.agent_enabled}
            onChange={(event) => {
              update.mutate({ agent_enabled: event.currentTarget.checked });
            }}
          />
        }
      />
      {update.error !== null && <ErrorNotice error={update.error} />}
      <Group mb="lg">
        <Text size="sm" c="dimmed">
          {titleOf(details.server_type)}
        </Text>
        <StatusBadge status={details.status} />
        <KeyBadge status={listed.api_key_verification_status} method={details.auth_method} />
      </Group>
      <StatusNotice id={id} shown={data} />
      <Tabs
        value={tab ?? "tools"}
        onChange={(next) => void navigate({ search: next === null ? {} : { tab: next } })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="tools">Tools</Tabs.Tab>
          <Tabs.Tab value="access">Access</Tabs.Tab>
          <Tabs.Tab
            value="changes"
            rightSection={
              waiting > 0 && (
                <Badge size="sm" color="orange.9" aria-label={`${waiting} waiting`}>
                  {waiting}
                </Badge>
              )
            }
          >
            Changes
          </Tabs.Tab>
          <Tabs.Tab value="activity">Activity</Tabs.Tab>
          <Tabs.Tab value="settings">Settings</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="tools">
          <ToolsTable id={id} disabledTools={listed.disabled_tools} />
        </Tabs.Panel>
        <Tabs.Panel value="access">
          <AccessLevel id={id} current={listed.access_type} disabledTools={listed.disabled_tools} />
        </Tabs.Panel>
        <Tabs.Panel value="changes">
          <LazyChangesPanel id={id} accepting={details.accept_tool_changes} />
        </Tabs.Panel>
        <Tabs.Panel value="activity">
          <ConnectionActivity id={id} details={details} />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <Authorization id={id} details={details} />
          <ConnectionAlias id={id} alias={details.alias} />
          <ReplaceKey id={id} details={details} />
          <DeleteConnection id={id} name={details.name} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
