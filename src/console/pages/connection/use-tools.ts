import { useQuery } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { ApiClient } from "../../api/client.ts";
import type { Schemas } from "../../api/schemas.ts";

/** Tools asked for at once; the API's most. */
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
    // A page that brings nothing new ends it too: a list that shrinks meanwhile, or a mock, must not be asked for ever.
    if (data.has_more !== true || tools.size === known) return [...tools.values()];
  }
}

/** Every tool of a connection, switched off or out of reach included. */
export function useTools(id: string) {
  const { client } = useApi();
  return useQuery({ queryKey: ["connections", "tools", id], queryFn: () => listAll(client, id) });
}
