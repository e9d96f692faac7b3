import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { bodyOf } from "../../../api/client.ts";
import { useApi } from "../../../api/context.ts";
import type { Schemas } from "../../../api/schemas.ts";

/** Maximum number of pending changes shown. */
const PAGE = 20;

/** The changes of a connection's tools and those that await review, by page. */
export function useToolChanges(id: string) {
  const { client } = useApi();
  return useInfiniteQuery({
    queryKey: ["connections", "changes", id],
    queryFn: ({ pageParam }) =>
      bodyOf(
        client.GET("/api/v1/mcp-servers/{server_id}/tool-changes", {
          params: { path: { server_id: id }, query: { limit: PAGE, offset: pageParam } },
        }),
      ),
    initialPageParam: 0,
    getNextPageParam: ({ has_more }, pages) => (has_more ? pages.length * PAGE : undefined),
  });
}

/** Accepts the proposed definitions as shown, then reloads them, also after an error. */
export function useAcceptChanges(id: string) {
  const { client } = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["AcceptToolChangesRequest"]) =>
      bodyOf(
        client.POST("/api/v1/mcp-servers/{server_id}/tool-changes/accept", {
          params: { path: { server_id: id } },
          body,
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ["connections"] }),
  });
}
