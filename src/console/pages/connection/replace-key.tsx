import { Button, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import type { Schemas } from "../../api/schemas.ts";
import { CopyText } from "../../parts/copy-text.tsx";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { useUpdate } from "./use-update.ts";

/** Random bytes of a generated client secret, written as two hexadecimal digits each. */
const SECRET_BYTES = 32;

function makeSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Replaces the upstream's key and the secret of the connection's own client. Neither is shown again. */
export function ReplaceKey({ id, details }: { readonly id: string; readonly details: Schemas["ConnectionDetails"] }) {
  const [key, setKey] = useState("");
  const [secret, setSecret] = useState<string>();
  const replaceKey = useUpdate(id);
  const setClientSecret = useUpdate(id);
  return (
    <Stack maw={620} gap="xl">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          replaceKey.mutate({ api_key: key });
          setKey("");
        }}
      >
        <Stack>
          <Title order={2} size="h4">
            Key
          </Title>
          <PasswordInput
            label="New key"
            description="It replaces the key that is there, and is verified at once."
            autoComplete="new-password"
            value={key}
            maxLength={4_096}
            onChange={(event) => {
              setKey(event.currentTarget.value);
            }}
          />
          {replaceKey.error !== null && <ErrorNotice error={replaceKey.error} />}
          <Button type="submit" disabled={key === ""} loading={replaceKey.isPending} w="fit-content">
            Replace the key
          </Button>
        </Stack>
      </form>
      <Stack>
        <Title order={2} size="h4">
          Client of this connection
        </Title>
        <Text size="sm">With it an application gets tokens that reach this connection alone.</Text>
        <CopyText label="client id" text={details.oauth2_client_id} />
        {secret !== undefined && setClientSecret.isSuccess && (
          <>
            <Text size="sm" role="status">
              The new secret, shown this once:
            </Text>
            <CopyText label="client secret" text={secret} />
          </>
        )}
        {setClientSecret.error !== null && <ErrorNotice error={setClientSecret.error} />}
        <Button
          variant="default"
          w="fit-content"
          loading={setClientSecret.isPending}
          onClick={() => {
            const made = makeSecret();
            setSecret(made);
            setClientSecret.mutate({ oauth2_client_secret: made });
          }}
        >
          Make a new secret
        </Button>
        <Text size="sm" c="dimmed">
          Tokens got with an earlier secret end.
        </Text>
      </Stack>
    </Stack>
  );
}
