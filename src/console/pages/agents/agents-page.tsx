import { Select, Stack, Tabs, Text } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { CopyText } from "../../parts/copy-text.tsx";
import { PageHeader } from "../../parts/page-header.tsx";
import { useConnections } from "../connections/use-connections.ts";
import { FreshToken } from "./fresh-token.tsx";
import { snippetsFor } from "./snippets.ts";

const PLACEHOLDER = "<token>";

/** How to connect an agent: one address, and the configuration to paste. */
export function AgentsPage() {
  const { connection = "", client = "claude" } = useSearch({ from: "/agents" });
  const navigate = useNavigate({ from: "/agents" });
  const { data } = useConnections();
  const [token, setToken] = useState<{ readonly text: string; readonly connection: string }>();
  // The token is not shown after another connection is selected.
  const fitting = token?.connection === connection ? token.text : undefined;
  const url = `${location.origin}/mcp${connection === "" ? "" : `/${connection}`}`;
  const snippets = snippetsFor(url, fitting ?? PLACEHOLDER);
  return (
    <>
      <PageHeader
        title="Connect an agent"
        about="One address for every MCP client. Hosts that can log in need nothing else; scripts use a token."
      />
      <Stack maw={820} gap="lg">
        <Select
          label="What it reaches"
          value={connection}
          allowDeselect={false}
          onChange={(id) => void navigate({ search: { client, ...(id !== null && id !== "" && { connection: id }) } })}
          data={[
            { value: "", label: "All connections" },
            ...(data ?? []).map((each) => ({ value: String(each.id), label: each.mcp_server_name })),
          ]}
          maw={420}
        />
        <div>
          <Text size="sm" fw={500} mb={4}>
            Address
          </Text>
          <CopyText label="address" text={url} />
        </div>
        <FreshToken
          key={connection}
          connection={connection}
          token={fitting}
          onToken={(text) => {
            setToken({ text, connection });
          }}
        />
        <Tabs
          value={client}
          onChange={(id) =>
            void navigate({ search: { client: id ?? "claude", ...(connection !== "" && { connection }) } })
          }
        >
          <Tabs.List mb="sm">
            {snippets.map(({ id, title }) => (
              <Tabs.Tab key={id} value={id}>
                {title}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {snippets.map(({ id, title, hint, text }) => (
            <Tabs.Panel key={id} value={id}>
              <Text size="sm" mb="xs">
                {hint}
              </Text>
              <CopyText label={`configuration for ${title}`} text={text} />
            </Tabs.Panel>
          ))}
        </Tabs>
      </Stack>
    </>
  );
}
