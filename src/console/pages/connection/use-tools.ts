import { useQuery } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { ApiClient } from "../../api/client.ts";
import type { Schemas } from "../../api/schemas.ts";

/** Tools per request; the API's maximum. */
const PAGE = 500;

async function listAll(client: ApiClient, id: string): Promise<readonly Schemas["Tool"][]> {
  const tools = new Map<number, Schemas["Tool"]>();
  for (;;) {
    const known = tools.size;
    const { data } = await bodyOf(
      client.GET("/api/v1/mcp-servers/{server_id}/tools", {
        params: { path: { server_id: id }, query: { include_disabled: true, limit: PAGE, offset: known } },
      }),
    );
    for (const tool of data.tools) tools.set(tool.id, tool);
    // A page without new tools also ends the loop, because a shrinking list or the mock would otherwise never end.
    if (data.has_more !== true || tools.size === known) return [...tools.values()];
  }
}

/** All tools of a connection, including disabled and inaccessible ones. */
export function useTools(id: string) {
  const { client } = useApi();
  return useQuery({ queryKey: ["connections", "tools", id], queryFn: () => listAll(client, id) });
}
