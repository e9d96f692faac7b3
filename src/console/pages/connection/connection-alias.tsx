import { Button, Stack, Text, TextInput, Title } from "@mantine/core";
import { useState } from "react";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { useUpdate } from "./use-update.ts";

/** The short name that tells this connection's tools from tools of the same name elsewhere. */
export function ConnectionAlias({ id, alias }: { readonly id: string; readonly alias: string }) {
  const [typed, setTyped] = useState(alias);
  const update = useUpdate(id);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        update.mutate({ alias: typed });
      }}
    >
      <Stack maw={620} mb="xl">
        <Title order={2} size="h4">
          Alias
        </Title>
        <Text size="sm">
          If another connection has a tool of the same name, agents see this connection’s tool as {typed || alias}
          __name. Running sessions keep the names that they have seen.
        </Text>
        <TextInput
          label="Alias"
          description="Words of a-z and 0-9, joined by _ or -. No other connection may have it."
          value={typed}
          maxLength={20}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
          }}
          w={{ base: "100%", xs: 320 }}
        />
        {update.error !== null && <ErrorNotice error={update.error} />}
        <Button type="submit" w="fit-content" disabled={typed === alias || typed === ""} loading={update.isPending}>
          Save the alias
        </Button>
      </Stack>
    </form>
  );
}
