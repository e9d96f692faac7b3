import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { Schemas } from "../../api/schemas.ts";

const KEY = ["personal-access-tokens"];

/** The account's personal access tokens that are in use. */
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

/** Makes a token; its text is in the answer alone. */
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

/** Puts a new token in the place of one; its text is in the answer alone. */
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

/** Revokes a token: it is refused everywhere within a second. */
export function useRevokeToken() {
  const { client } = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      bodyOf(client.DELETE("/api/v1/personal-access-tokens/{token_id}", { params: { path: { token_id: id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  });
}
