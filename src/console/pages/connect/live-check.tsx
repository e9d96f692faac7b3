import { Alert, Button, Group, Loader, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { useConnection } from "../connection/use-connection.ts";

/** The third step: the key is verified while the reader watches. */
export function LiveCheck({ id }: { readonly id: string }) {
  const { data, error } = useConnection(id);
  const status = data?.listed.api_key_verification_status;
  return (
    <Stack maw={620} aria-live="polite">
      {error !== null && <ErrorNotice error={error} />}
      {(status === undefined || status === "pending") && (
        <Alert color="blue" title="Asking the third party whether the key works">
          <Group gap="sm">
            <Loader size="xs" aria-hidden />
            <Text size="sm">{data?.details.status_reason ?? "This takes a moment. You need not wait here."}</Text>
          </Group>
        </Alert>
      )}
      {status === "verified" && (
        <Alert color="teal" title="Connected">
          The key works, and the tools are there.
        </Alert>
      )}
      {status === "failed" && (
        <Alert color="red" title="The key was refused">
          {data?.details.status_reason ?? "Replace it on the connection's page."}
        </Alert>
      )}
      <Group>
        <Button component={Link} to={`/connections/${id}`}>
          To the connection
        </Button>
        <Button component={Link} to="/agents" variant="default">
          Connect an agent
        </Button>
      </Group>
    </Stack>
  );
}
