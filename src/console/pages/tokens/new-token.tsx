import { Button, Group, Modal, Select, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { ScopesInput } from "../../parts/scopes.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { useSession } from "../../shell/use-session.ts";
import { useConnections } from "../connections/use-connections.ts";
import { useCreateToken } from "./use-tokens.ts";

const LIVES = [
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "A year" },
  { value: "", label: "Without an end" },
];

/** Makes a personal access token, and shows it once. */
export function NewToken({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly string[]>(["mcp.read"]);
  const [connection, setConnection] = useState("");
  const [days, setDays] = useState("90");
  const { data: connections } = useConnections();
  const { data: session } = useSession();
  const create = useCreateToken();
  return (
    <Modal opened onClose={onClose} title="New token" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      {create.data !== undefined ? (
        <Stack>
          <ShownOnce label="token" text={create.data.token} />
          <Button onClick={onClose} w="fit-content">
            Done
          </Button>
        </Stack>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            create.mutate({
              name,
              scopes: [...scopes],
              ...(connection !== "" && { server_id: connection }),
              ...(days !== "" && { expires_in_days: Number(days) }),
            });
          }}
        >
          <Stack>
            <TextInput
              label="Name"
              description="What it is for, so that you know it again."
              maxLength={255}
              required
              data-autofocus
              value={name}
              onChange={(event) => {
                setName(event.currentTarget.value);
              }}
            />
            <ScopesInput value={scopes} onChange={setScopes} isAdmin={session?.isAdmin ?? false} />
            <Select
              label="What it reaches"
              value={connection}
              allowDeselect={false}
              onChange={(id) => {
                setConnection(id ?? "");
              }}
              data={[
                { value: "", label: "All connections" },
                ...(connections ?? []).map((each) => ({ value: String(each.id), label: each.mcp_server_name })),
              ]}
            />
            <Select
              label="How long it holds"
              value={days}
              allowDeselect={false}
              onChange={(value) => {
                setDays(value ?? "90");
              }}
              data={LIVES}
            />
            {create.error !== null && <ErrorNotice error={create.error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
              <Button type="submit" loading={create.isPending} disabled={scopes.length === 0}>
                Make the token
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}
