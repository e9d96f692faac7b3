import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { Schemas } from "../../api/schemas.ts";

const KEY = ["personal-access-tokens"];

/** The account's active personal access tokens. */
export function useTokens() {
  const { client } = useApi();
  return useQuery({
    queryKey: KEY,
    queryFn: async () => {
      const query = { limit: 500 };
      const { data } = await bodyOf(client.GET("/api/v1/personal-access-tokens", { params: { query } }));
      return data.filter(({ revoked_at }) => revoked_at === undefined);
    },
  });
}

/** Creates a token. Only the response contains it. */
export function useCreateToken() {
  const { client } = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["CreatePersonalAccessTokenRequest"]) =>
      bodyOf(client.POST("/api/v1/personal-access-tokens", { body })),
    onSuccess: () => queries.invalidateQueries({ queryKey: KEY }),
    gcTime: 0,
  });
}

/** Replaces a token by a new one. Only the response contains it. */
export function useRotateToken() {
  const { client } = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      bodyOf(
        client.POST("/api/v1/personal-access-tokens/{token_id}/rotate", {
          params: { path: { token_id: id } },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: KEY }),
    gcTime: 0,
  });
}

/** Revokes a token. All replicas reject it within a second. */
export function useRevokeToken() {
  const { client } = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      bodyOf(client.DELETE("/api/v1/personal-access-tokens/{token_id}", { params: { path: { token_id: id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  });
}
