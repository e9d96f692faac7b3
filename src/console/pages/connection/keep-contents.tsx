import { Alert, Button, List, Select, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { useUpdate } from "./use-update.ts";

const CHOICES = [0, 1, 3, 7, 14, 30];

function inWords(days: number): string {
  if (days === 0) return "Not kept";
  return days === 1 ? "For 1 day" : `For ${days} days`;
}

/** Whether and how long call payloads are stored, and the effect of a change before it is saved. */
export function KeepContents({ id, days }: { readonly id: string; readonly days: number }) {
  const [chosen, setChosen] = useState(days);
  const update = useUpdate(id);
  // The API allows more values than this list.
  const choices = [...new Set([...CHOICES, days])].sort((a, b) => a - b);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        update.mutate({ keep_contents_days: chosen });
      }}
    >
      <Stack maw={640}>
        <Title order={2} size="h4">
          What is kept of calls
        </Title>
        <Text size="sm">
          Who called which tool, when, for how long and how it ended is always in the history. What was said is not,
          unless you want it kept. Then this is stored:
        </Text>
        <List size="sm">
          <List.Item>the arguments and the result of every call through this connection, whoever makes it</List.Item>
          <List.Item>up to 64 KiB of each, encrypted, with this connection’s own secrets taken out</List.Item>
          <List.Item>readable to you, and to tokens that may read this connection (mgmt.read)</List.Item>
          <List.Item>deleted after the days you choose, when you turn it off, and with the connection</List.Item>
        </List>
        <Text size="sm">It may be about people. Choose as few days as you need.</Text>
        <Select
          label="Arguments and results"
          data={choices.map((each) => ({ value: String(each), label: inWords(each) }))}
          value={String(chosen)}
          allowDeselect={false}
          onChange={(value) => {
            setChosen(Number(value ?? days));
          }}
          w={{ base: "100%", xs: 220 }}
        />
        {chosen < days && (
          <Alert color="yellow" title={chosen === 0 ? "What is kept is deleted" : "What is older is deleted"}>
            {chosen === 0
              ? "Everything that was said in calls so far goes at once, and does not come back."
              : `What was said more than ${chosen === 1 ? "1 day" : `${chosen} days`} ago goes at once, and does not come back.`}
          </Alert>
        )}
        {update.error !== null && <ErrorNotice error={update.error} />}
        <Button type="submit" w="fit-content" disabled={chosen === days} loading={update.isPending}>
          Save
        </Button>
      </Stack>
    </form>
  );
}
