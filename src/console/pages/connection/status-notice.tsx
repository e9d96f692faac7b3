import { Alert, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ShownConnection } from "./as-changed.ts";
import { AuthorizeButton } from "./authorize-button.tsx";

/** Why a connection does not work, and where to fix it. Nothing if it works. */
export function StatusNotice({
  id,
  shown: { listed, details },
}: {
  readonly id: string;
  readonly shown: ShownConnection;
}) {
  const mustLogIn = details.status === "needs_authorization";
  const reason = details.status_reason ?? (mustLogIn ? "Log in at the vendor and grant access." : undefined);
  if (reason === undefined) return undefined;
  const isKeyWanted = details.auth_method === "api_key" && listed.api_key_verification_status !== "verified";
  return (
    <Alert color={listed.api_key_verification_status === "failed" ? "red" : "yellow"} mb="lg" p="sm">
      <Group justify="space-between" gap="xs">
        <Text size="sm" maw={720} style={{ overflowWrap: "anywhere" }}>
          {reason}
        </Text>
        {mustLogIn && <AuthorizeButton id={id} label="Log in there" />}
        {isKeyWanted && !mustLogIn && (
          <Link to="/connections/$id" params={{ id }} search={{ tab: "settings" }} className="text-link">
            Replace the key
          </Link>
        )}
      </Group>
    </Alert>
  );
}
