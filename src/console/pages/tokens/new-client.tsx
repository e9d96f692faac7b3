import { Button, Group, Modal, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { CopyText } from "../../parts/copy-text.tsx";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { ScopesInput } from "../../parts/scopes.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { useSession } from "../../shell/use-session.ts";
import { useCreateClient } from "./use-clients.ts";

/** Makes an OAuth client, and shows its secret once. */
export function NewClient({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly string[]>(["mgmt.read"]);
  const [redirects, setRedirects] = useState("");
  const { data: session } = useSession();
  const create = useCreateClient();
  const redirectUris = redirects.split(/\s+/).filter((uri) => uri !== "");
  return (
    <Modal opened onClose={onClose} title="New OAuth client" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      {create.data !== undefined ? (
        <Stack>
          <Text size="sm">The client id:</Text>
          <CopyText label="client id" text={create.data.data.client_id} />
          {create.data.client_secret !== undefined && (
            <ShownOnce label="client secret" text={create.data.client_secret} />
          )}
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
              ...(redirectUris.length > 0 && { redirect_uris: redirectUris }),
            });
          }}
        >
          <Stack>
            <TextInput
              label="Name"
              description="People see it when they are asked to allow it."
              maxLength={255}
              required
              data-autofocus
              value={name}
              onChange={(event) => {
                setName(event.currentTarget.value);
              }}
            />
            <ScopesInput value={scopes} onChange={setScopes} isAdmin={session?.isAdmin ?? false} />
            <Textarea
              label="Redirect addresses"
              description="One a line, for a program that people log in to. Leave empty for one that acts for itself."
              autosize
              value={redirects}
              onChange={(event) => {
                setRedirects(event.currentTarget.value);
              }}
            />
            {create.error !== null && <ErrorNotice error={create.error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
              <Button type="submit" loading={create.isPending} disabled={scopes.length === 0}>
                Make the client
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}
