import { Alert, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ShownConnection } from "./as-changed.ts";

/** Why a connection does not work as it could, and where to mend it; nothing while there is nothing to say. */
export function StatusNotice({
  id,
  shown: { listed, details },
}: {
  readonly id: string;
  readonly shown: ShownConnection;
}) {
  if (details.status_reason === undefined) return undefined;
  const isFailed = listed.api_key_verification_status === "failed";
  return (
    <Alert color={isFailed ? "red" : "yellow"} mb="lg" p="sm">
      <Group justify="space-between" gap="xs">
        <Text size="sm" maw={720} style={{ overflowWrap: "anywhere" }}>
          {details.status_reason}
        </Text>
        {details.auth_method === "api_key" && listed.api_key_verification_status !== "verified" && (
          <Link to="/connections/$id" params={{ id }} search={{ tab: "settings" }} className="text-link">
            Replace the key
          </Link>
        )}
      </Group>
    </Alert>
  );
}
