import { Button, Group, Text } from "@mantine/core";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { useCreateToken } from "../tokens/use-tokens.ts";

/** Lifetime in days of a token created here. */
const LIFE_DAYS = 90;

/** Creates a token for the configuration below on request. */
export function FreshToken({
  connection,
  token,
  onToken,
}: {
  /** The id of the token's connection; empty for all. */
  readonly connection: string;
  readonly token: string | undefined;
  readonly onToken: (token: string) => void;
}) {
  const create = useCreateToken();
  if (token !== undefined) return <ShownOnce label="token" text={token} />;
  return (
    <>
      <Group>
        <Button
          variant="default"
          loading={create.isPending}
          onClick={() => {
            create.mutate(
              {
                name: "Made for an agent",
                scopes: ["mcp.read", "mcp.write"],
                expires_in_days: LIFE_DAYS,
                ...(connection !== "" && { server_id: connection }),
              },
              {
                onSuccess: (made) => {
                  onToken(made.token);
                },
              },
            );
          }}
        >
          Make a token for it
        </Button>
        <Text size="sm" c="dimmed">
          For what cannot log in by itself. It holds for {LIFE_DAYS} days.
        </Text>
      </Group>
      {create.error !== null && <ErrorNotice error={create.error} />}
    </>
  );
}
