import { Stepper } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { PageHeader } from "../../parts/page-header.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { ChooseIntegration } from "./choose-integration.tsx";
import { Configure } from "./configure.tsx";
import { LiveCheck } from "./live-check.tsx";
import { useIntegrations } from "./use-integrations.ts";

/**
 * Connecting in three steps: choose, configure, verify. The step is part of the address, so that Back returns to the
 * previous one.
 */
export function ConnectPage() {
  const { type, created } = useSearch({ from: "/connections/new" });
  const navigate = useNavigate({ from: "/connections/new" });
  const { data, error, refetch } = useIntegrations();
  const chosen = data?.find(({ server_type }) => server_type === type);
  const step = created !== undefined ? 2 : chosen !== undefined ? 1 : 0;
  return (
    <>
      <PageHeader title={chosen === undefined ? "Connect" : `Connect ${chosen.title}`} />
      <Stepper active={step} size="sm" mb="xl" allowNextStepsSelect={false}>
        <Stepper.Step label="Choose" />
        <Stepper.Step label="Fill in" />
        <Stepper.Step label="Check" />
      </Stepper>
      {error !== null && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <RowsSkeleton />}
      {data !== undefined && step === 0 && (
        <ChooseIntegration integrations={data} onChoose={(word) => void navigate({ search: { type: word } })} />
      )}
      {chosen !== undefined && step === 1 && (
        <Configure
          key={chosen.server_type}
          integration={chosen}
          onBack={() => void navigate({ search: {} })}
          onCreated={(id) => void navigate({ search: { type: chosen.server_type, created: id }, replace: true })}
        />
      )}
      {created !== undefined && <LiveCheck id={created} />}
    </>
  );
}
