import { Anchor, Button, Group, Radio, Stack, Text, TextInput } from "@mantine/core";
import { useMemo, useState } from "react";
import type { Schemas } from "../../api/schemas.ts";
import { accessInWords } from "../../parts/connection-badges.tsx";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { LazySchemaForm } from "../../parts/schema-form/lazy-schema-form.tsx";
import { type ConsoleAuthMethod, AuthMethodInput, schemaFor } from "./auth-method.tsx";
import { TrialReport } from "./trial-report.tsx";
import { useConnect, useTrial } from "./use-connect.ts";

type Access = Schemas["Connection"]["access_type"];

const ACCESS: readonly Access[] = ["read", "write", "individual"];

function toAccess(word: string): Access {
  return ACCESS.find((each) => each === word) ?? "read";
}

/** The second step: address, key and access. */
export function Configure({
  integration,
  onCreated,
  onBack,
}: {
  readonly integration: Schemas["Integration"];
  readonly onCreated: (id: string) => void;
  readonly onBack: () => void;
}) {
  const [name, setName] = useState(integration.title);
  const [access, setAccess] = useState<Access>("read");
  const [configuration, setConfiguration] = useState<Readonly<Record<string, unknown>>>({});
  const [method, setMethod] = useState<ConsoleAuthMethod | undefined>(integration.auth_methods[0]);
  const trial = useTrial(integration.server_type);
  const connect = useConnect();

  const schema = useMemo(() => schemaFor(integration, method), [integration, method]);

  function submit(value: Readonly<Record<string, unknown>>): void {
    connect.mutate(
      {
        server_type: integration.server_type,
        name,
        access_type: access,
        configuration: value,
        // A field that is empty is left to the configuration.
        ...(integration.auth_methods.length > 1 &&
          method !== "none" &&
          method !== undefined && { auth_method: method }),
      },
      {
        onSuccess: ({ server_id }) => {
          onCreated(server_id);
        },
      },
    );
  }
  return (
    <Stack maw={620}>
      <TextInput
        label="Name"
        description="What you and your agents will call it."
        value={name}
        maxLength={255}
        required
        onChange={(event) => {
          setName(event.currentTarget.value);
        }}
      />
      <Radio.Group
        label="How far agents may go"
        value={access}
        onChange={(word) => {
          setAccess(toAccess(word));
        }}
      >
        <Group mt={4}>
          {ACCESS.map((value) => (
            <Radio key={value} value={value} label={accessInWords(value)} />
          ))}
        </Group>
      </Radio.Group>
      <AuthMethodInput offered={integration.auth_methods} value={method} onChange={setMethod} />
      <LazySchemaForm
        schema={schema}
        isNamedInWords
        value={configuration}
        onChange={setConfiguration}
        onSubmit={submit}
        disabled={connect.isPending}
      >
        <Stack mt="md">
          {trial.data !== undefined && <TrialReport report={trial.data} />}
          {trial.error !== null && <ErrorNotice error={trial.error} />}
          {connect.error !== null && <ErrorNotice error={connect.error} />}
          <Group>
            <Button type="submit" loading={connect.isPending}>
              Connect
            </Button>
            <Button
              variant="default"
              loading={trial.isPending}
              onClick={() => {
                trial.mutate(configuration);
              }}
            >
              Try it first
            </Button>
            <Button variant="subtle" onClick={onBack}>
              Choose another
            </Button>
          </Group>
          {integration.documentation_url !== undefined && (
            <Text size="sm">
              <Anchor href={integration.documentation_url} target="_blank" rel="noreferrer">
                Where {integration.title} explains its API and keys
              </Anchor>
            </Text>
          )}
        </Stack>
      </LazySchemaForm>
    </Stack>
  );
}
