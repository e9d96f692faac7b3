import { Stack, Text, Title } from "@mantine/core";
import type { Schemas } from "../../api/schemas.ts";
import { useIntegrations } from "../connect/use-integrations.ts";
import { AuthorizeButton } from "./authorize-button.tsx";

/** Where an owner logs in at the upstream, for the first time or again. */
export function Authorization({
  id,
  details,
}: {
  readonly id: string;
  readonly details: Schemas["ConnectionDetails"];
}) {
  const { data } = useIntegrations();
  const integration = data?.find(({ server_type }) => server_type === details.server_type);
  const isInUse = details.auth_method === "oauth2";
  if (!isInUse && integration?.auth_methods.includes("oauth2") !== true) return undefined;
  return (
    <Stack maw={620} mb="xl" align="flex-start">
      <Title order={2} size="h4">
        Login at the vendor
      </Title>
      <Text size="sm">
        {isInUse
          ? "You allowed this connection by logging in there. Log in again as somebody else, or after it was taken back; tools and settings stay."
          : "You can log in there and allow the connection. It takes the place of the key once you have."}
      </Text>
      <AuthorizeButton id={id} label={isInUse ? "Log in there again" : "Log in there"} variant="default" />
    </Stack>
  );
}
