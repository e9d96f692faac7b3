import { Button, Group, Tabs } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { PageHeader } from "../../parts/page-header.tsx";
import { useConnections } from "../connections/use-connections.ts";
import { ClientsTable } from "./clients-table.tsx";
import { GrantsTable } from "./grants-table.tsx";
import { NewClient } from "./new-client.tsx";
import { CredentialDialog } from "./new-credential.tsx";
import { NewToken } from "./new-token.tsx";
import { TokensTable } from "./tokens-table.tsx";

/** All credentials of the account. The open tab is part of the address. */
export function TokensPage() {
  const { tab = "tokens" } = useSearch({ from: "/tokens" });
  const navigate = useNavigate({ from: "/tokens" });
  const [making, setMaking] = useState<"token" | "client">();
  const { data: connections } = useConnections();
  const connectionName = (id: number): string =>
    connections?.find((each) => each.id === id)?.mcp_server_name ?? `Connection ${id}`;
  const close = (): void => {
    setMaking(undefined);
  };
  return (
    <>
      <PageHeader
        title="Tokens and clients"
        about="Everything that may act for you without your password."
        actions={
          <Group gap="xs">
            <Button
              onClick={() => {
                setMaking("token");
              }}
            >
              New token
            </Button>
            <Button
              variant="default"
              onClick={() => {
                setMaking("client");
              }}
            >
              New client
            </Button>
          </Group>
        }
      />
      <Tabs
        value={tab}
        onChange={(next) => void navigate({ search: next === null ? {} : { tab: next } })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="tokens">Personal access tokens</Tabs.Tab>
          <Tabs.Tab value="clients">OAuth clients</Tabs.Tab>
          <Tabs.Tab value="grants">Applications you allowed</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="tokens">
          <TokensTable connectionName={connectionName} />
        </Tabs.Panel>
        <Tabs.Panel value="clients">
          <ClientsTable />
        </Tabs.Panel>
        <Tabs.Panel value="grants">
          <GrantsTable connectionName={connectionName} />
        </Tabs.Panel>
      </Tabs>
      <CredentialDialog title="New token" opened={making === "token"} onClose={close}>
        <NewToken onClose={close} />
      </CredentialDialog>
      <CredentialDialog title="New OAuth client" opened={making === "client"} onClose={close}>
        <NewClient onClose={close} />
      </CredentialDialog>
    </>
  );
}
