import { Alert, Button, Group, Loader, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { AuthorizeButton } from "../connection/authorize-button.tsx";
import { useConnection } from "../connection/use-connection.ts";

/** The third step: shows the verification while it runs. */
export function LiveCheck({ id }: { readonly id: string }) {
  const { data, error } = useConnection(id);
  const mustLogIn = data?.details.status === "needs_authorization";
  const status = mustLogIn ? undefined : data?.listed.api_key_verification_status;
  return (
    <Stack maw={620} aria-live="polite">
      {error !== null && <ErrorNotice error={error} />}
      {mustLogIn && (
        <Alert color="yellow" title="One step is left: log in there">
          <Stack align="flex-start" gap="sm">
            <Text size="sm">{data.details.status_reason ?? "The vendor asks you to grant access."}</Text>
            <AuthorizeButton id={id} label="Log in there" />
          </Stack>
        </Alert>
      )}
      {!mustLogIn && (status === undefined || status === "pending") && (
        <Alert color="blue" title="Verifying the key">
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
        <Button component={Link} to={`/connections/${id}`} variant={mustLogIn ? "default" : "filled"}>
          To the connection
        </Button>
        <Button component={Link} to="/agents" variant="default">
          Connect an agent
        </Button>
      </Group>
    </Stack>
  );
}
