import { Button, Group, List, Modal, Stack, Text, TextInput, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { useDelete } from "./use-update.ts";

/** Deletes a connection after its name was typed, and lists what is deleted with it. */
export function DeleteConnection({ id, name }: { readonly id: string; readonly name: string }) {
  const [isOpen, { open, close }] = useDisclosure();
  const [typed, setTyped] = useState("");
  const remove = useDelete(id);
  const navigate = useNavigate();
  return (
    <Stack mt="xl" maw={620}>
      <Title order={2} size="h4">
        Delete
      </Title>
      <Text size="sm">Agents lose its tools at once, and nothing of it can be brought back.</Text>
      <Button color="red" variant="outline" onClick={open} w="fit-content">
        Delete this connection…
      </Button>
      <Modal opened={isOpen} onClose={close} title={`Delete ${name}?`} closeButtonProps={{ "aria-label": "Close" }}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (typed === name) remove.mutate(undefined, { onSuccess: () => void navigate({ to: "/connections" }) });
          }}
        >
          <Stack>
            <Text size="sm">What goes with it, for good and at once:</Text>
            <List size="sm">
              <List.Item>its key and its configuration</List.Item>
              <List.Item>its client, with all tokens that were got with it</List.Item>
              <List.Item>personal access tokens made for it alone</List.Item>
              <List.Item>sessions of agents that are using it</List.Item>
              <List.Item>the history of its calls, and what was kept of them</List.Item>
            </List>
            <TextInput
              label={`Type “${name}” to be sure`}
              autoComplete="off"
              data-autofocus
              value={typed}
              onChange={(event) => {
                setTyped(event.currentTarget.value);
              }}
            />
            {remove.error !== null && <ErrorNotice error={remove.error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={close}>
                Keep it
              </Button>
              <Button type="submit" color="red" disabled={typed !== name} loading={remove.isPending}>
                Delete
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </Stack>
  );
}
