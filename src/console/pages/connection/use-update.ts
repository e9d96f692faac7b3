import { useMutation, useQueryClient } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { Schemas } from "../../api/schemas.ts";

/** Changes a connection; everything that shows it is read again, whether that worked or not. */
export function useUpdate(id: string) {
  const { client } = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["UpdateConnectionRequest"]) =>
      bodyOf(client.PUT("/api/v1/mcp-servers/{server_id}", { params: { path: { server_id: id } }, body })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["connections"] }),
    // A change may hold a secret: nothing of it stays once its form is gone.
    gcTime: 0,
  });
}

/** Deletes a connection for good. */
export function useDelete(id: string) {
  const { client } = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => bodyOf(client.DELETE("/api/v1/mcp-servers/{server_id}", { params: { path: { server_id: id } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["connections", "list"] }),
  });
}
