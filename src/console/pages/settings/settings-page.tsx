import { Anchor, Radio, Stack, Switch, Text, Title, useMantineColorScheme } from "@mantine/core";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { PageHeader } from "../../parts/page-header.tsx";
import { RowsSkeleton } from "../../parts/skeletons.tsx";
import { useSession } from "../../shell/use-session.ts";
import { useSettings, useUpdateSettings } from "./use-settings.ts";

function ForAgents() {
  const { data, error, refetch } = useSettings();
  const update = useUpdateSettings();
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <RowsSkeleton rows={1} />;
  return (
    <>
      <Switch
        label="Let agents search for tools"
        description="An agent that would see more than 100 tools is shown two instead: find_tools finds them by words, call_tool calls one. It leaves more of its attention for the task. Every tool can still be called by its name."
        checked={data.tool_search}
        onChange={(event) => {
          update.mutate({ tool_search: event.currentTarget.checked });
        }}
      />
      {update.error !== null && <ErrorNotice error={update.error} />}
    </>
  );
}

const SCHEMES = [
  { value: "auto", label: "As my system" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
] as const;

/** Settings of the account and of this browser. */
export function SettingsPage() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { data: session } = useSession();
  return (
    <>
      <PageHeader title="Settings" about="What holds for the whole account, and how this browser shows it." />
      <Stack gap="xl" maw={640}>
        <Stack component="section" aria-labelledby="for-agents">
          <Title order={2} size="h4" id="for-agents">
            What agents see
          </Title>
          <ForAgents />
        </Stack>
        <Stack component="section" aria-labelledby="appearance">
          <Title order={2} size="h4" id="appearance">
            Appearance
          </Title>
          <Radio.Group
            label="Colors"
            value={colorScheme}
            onChange={(word) => {
              setColorScheme(SCHEMES.find(({ value }) => value === word)?.value ?? "auto");
            }}
          >
            <Stack gap="xs" mt="xs">
              {SCHEMES.map(({ value, label }) => (
                <Radio key={value} value={value} label={label} />
              ))}
            </Stack>
          </Radio.Group>
        </Stack>
        <Stack component="section" aria-labelledby="login" gap="xs">
          <Title order={2} size="h4" id="login">
            Login
          </Title>
          <Text size="sm">
            {session === undefined ? "…" : `You are logged in as ${session.email}.`}{" "}
            <Anchor href="/account" inherit underline="always">
              Password and ways to log in
            </Anchor>
          </Text>
        </Stack>
      </Stack>
    </>
  );
}
