import { Tabs } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { EmptyState } from "../../parts/empty-state.tsx";
import { PageHeader } from "../../parts/page-header.tsx";
import { PageSkeleton } from "../../parts/skeletons.tsx";
import { useSession } from "../../shell/use-session.ts";
import { AccountsTable } from "./accounts-table.tsx";
import { AuditTable } from "./audit-table.tsx";
import { SigningKeysPanel } from "./signing-keys.tsx";
import { SystemStatusPanel } from "./system-status.tsx";

/**
 * For administrators: accounts, the audit log, signing keys and the system status. The open tab is part of the address.
 */
export function AdminPage() {
  const { tab = "accounts" } = useSearch({ from: "/admin" });
  const navigate = useNavigate({ from: "/admin" });
  const { data: session } = useSession();
  if (session === undefined) return <PageSkeleton />;
  if (!session.isAdmin) {
    return <EmptyState title="For administrators">Your account does not administer this service.</EmptyState>;
  }
  return (
    <>
      <PageHeader title="Administration" />
      <Tabs
        value={tab}
        onChange={(next) => void navigate({ search: next === null ? {} : { tab: next } })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="accounts">Accounts</Tabs.Tab>
          <Tabs.Tab value="audit">Audit log</Tabs.Tab>
          <Tabs.Tab value="keys">Signing keys</Tabs.Tab>
          <Tabs.Tab value="system">System</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="accounts">
          <AccountsTable />
        </Tabs.Panel>
        <Tabs.Panel value="audit">
          <AuditTable />
        </Tabs.Panel>
        <Tabs.Panel value="keys">
          <SigningKeysPanel />
        </Tabs.Panel>
        <Tabs.Panel value="system">
          <SystemStatusPanel />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
