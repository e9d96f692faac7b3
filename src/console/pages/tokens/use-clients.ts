import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { Schemas } from "../../api/schemas.ts";

const KEY = ["oauth-clients"];

/** The account's active OAuth clients. Those of connections are on the page of their connection. */
export function useClients() {
  const { client } = useApi();
  return useQuery({
    queryKey: KEY,
    queryFn: async () => {
      const query = { limit: 500 };
      const { data } = await bodyOf(client.GET("/api/v1/oauth-clients", { params: { query } }));
      return data.filter((each) => each.revoked_at === undefined && each.mcp_server_id === undefined);
    },
  });
}

/** Creates a client. Only the response contains its secret. */
export function useCreateClient() {
  const { client } = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["CreateOAuthClientRequest"]) => bodyOf(client.POST("/api/v1/oauth-clients", { body })),
    onSuccess: () => queries.invalidateQueries({ queryKey: KEY }),
    gcTime: 0,
  });
}

/** Rotates a client's secret. The previous one stays valid for a day. */
export function useRotateSecret() {
  const { client } = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      bodyOf(
        client.POST("/api/v1/oauth-clients/{client_id}/rotate-secret", {
          params: { path: { client_id: id } },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: KEY }),
    gcTime: 0,
  });
}

/** Revokes a client with all its tokens. */
export function useRevokeClient() {
  const { client } = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      bodyOf(client.DELETE("/api/v1/oauth-clients/{client_id}", { params: { path: { client_id: id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  });
}
