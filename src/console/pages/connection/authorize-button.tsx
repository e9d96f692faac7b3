import { Button, Stack } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import { ErrorNotice } from "../../parts/error-notice.tsx";

/** Opens the upstream's login. The address is new each time, because each is valid once. */
export function AuthorizeButton({
  id,
  label,
  variant,
}: {
  readonly id: string;
  readonly label: string;
  readonly variant?: "default" | "filled";
}) {
  const { client } = useApi();
  const authorize = useMutation({
    mutationFn: async () => {
      const params = { path: { server_id: id } };
      const { data } = await bodyOf(client.POST("/api/v1/mcp-servers/{server_id}/authorization", { params }));
      return data.authorization_url;
    },
    onSuccess: (address) => {
      location.assign(address);
    },
    gcTime: 0,
  });
  return (
    <Stack gap="xs" align="flex-start">
      <Button
        variant={variant ?? "filled"}
        // The button stays disabled, because the page is about to be unloaded.
        loading={authorize.isPending || authorize.isSuccess}
        onClick={() => {
          authorize.mutate();
        }}
      >
        {label}
      </Button>
      {authorize.error !== null && <ErrorNotice error={authorize.error} />}
    </Stack>
  );
}
