import { Alert, Button, Group, List, Radio, Stack, Text } from "@mantine/core";
import { useState } from "react";
import type { Schemas } from "../../api/schemas.ts";
import { accessInWords } from "../../parts/connection-badges.tsx";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { useTools } from "./use-tools.ts";
import { useUpdate } from "./use-update.ts";

type Access = Schemas["Connection"]["access_type"];
type Tool = Schemas["Tool"];

const ACCESS: readonly Access[] = ["read", "write", "individual"];

const MEANING: Readonly<Record<Access, string>> = {
  read: "Tools that only read. Nothing that changes anything can be called.",
  write: "All tools that are switched on, those that come later too.",
  individual: "The tools that are switched on now. Those that come later are off until you switch them on.",
};

/** Maximum number of names shown. */
const SHOWN = 12;

function isReachable(tool: Tool, access: Access, disabled: ReadonlySet<number>): boolean {
  return !disabled.has(tool.id) && (access !== "read" || tool.read_only);
}

function Names({ title, tools }: { readonly title: string; readonly tools: readonly Tool[] }) {
  if (tools.length === 0) return undefined;
  return (
    <div>
      <Text size="sm" fw={600}>
        {title}
      </Text>
      <List size="sm">
        {tools.slice(0, SHOWN).map(({ id, name }) => (
          <List.Item key={id}>{name}</List.Item>
        ))}
      </List>
      {tools.length > SHOWN && <Text size="sm">and {tools.length - SHOWN} more</Text>}
    </div>
  );
}

/** Selects the access of agents, and shows which tools a change adds or removes before it is saved. */
export function AccessLevel({
  id,
  current,
  disabledTools,
}: {
  readonly id: string;
  readonly current: Access;
  readonly disabledTools: readonly number[];
}) {
  const [chosen, setChosen] = useState<Access>(current);
  const { data: tools, error } = useTools(id);
  const update = useUpdate(id);
  const disabled = new Set(disabledTools);
  const differs = (from: Access, to: Access): readonly Tool[] =>
    (tools ?? []).filter((tool) => isReachable(tool, to, disabled) && !isReachable(tool, from, disabled));
  const gained = differs(current, chosen);
  const lost = differs(chosen, current);
  return (
    <Stack maw={620}>
      <Radio.Group
        label="How far agents may go"
        value={chosen}
        onChange={(word) => {
          setChosen(ACCESS.find((each) => each === word) ?? current);
        }}
      >
        <Stack gap="sm" mt="xs">
          {ACCESS.map((access) => (
            <Radio key={access} value={access} label={accessInWords(access)} description={MEANING[access]} />
          ))}
        </Stack>
      </Radio.Group>
      {error !== null && <ErrorNotice error={error} />}
      {chosen !== current && (
        <Alert
          role="status"
          color={lost.length > 0 ? "yellow" : "blue"}
          title={`Agents gain ${gained.length} and lose ${lost.length} tools`}
        >
          <Stack gap="xs">
            <Names title="Gained" tools={gained} />
            <Names title="Lost" tools={lost} />
            {chosen === "read" && (
              <Text size="sm">Tokens and sessions of the connection’s own client end, and must be got anew.</Text>
            )}
          </Stack>
        </Alert>
      )}
      {update.error !== null && <ErrorNotice error={update.error} />}
      <Group>
        <Button
          disabled={chosen === current}
          loading={update.isPending}
          onClick={() => {
            update.mutate({ access_type: chosen });
          }}
        >
          Save
        </Button>
      </Group>
    </Stack>
  );
}
