import { useMutation, useQueryClient } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { Schemas } from "../../api/schemas.ts";

export function useConnect() {
  const { client } = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["CreateConnectionRequest"]) => bodyOf(client.POST("/api/v1/mcp-servers", { body })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["connections"] }),
    // The request contains secrets, so it is not cached after the form closes.
    gcTime: 0,
  });
}

/** Tries a configuration against the upstream without storing anything. */
export function useTrial(serverType: string) {
  const { client } = useApi();
  return useMutation({
    mutationFn: async (configuration: Readonly<Record<string, unknown>>) =>
      (
        await bodyOf(
          client.POST("/api/v1/integrations/{server_type}/validate", {
            params: { path: { server_type: serverType } },
            body: { configuration },
          }),
        )
      ).data,
    gcTime: 0,
  });
}
