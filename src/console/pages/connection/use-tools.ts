import { useQuery } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { ApiClient } from "../../api/client.ts";
import type { Schemas } from "../../api/schemas.ts";

/** Tools asked for at once; the API's most. */
const PAGE = 500;

async function listAll(client: ApiClient, id: string): Promise<readonly Schemas["Tool"][]> {
  const tools: Schemas["Tool"][] = [];
  for (let offset = 0; ; offset += PAGE) {
    const { data } = await bodyOf(
      client.GET("/api/v1/mcp-servers/{server_id}/tools", {
        params: { path: { server_id: id }, query: { include_disabled: true, limit: PAGE, offset } },
      }),
    );
    tools.push(...data.tools);
    if (data.has_more !== true) return tools;
  }
}

/** Every tool of a connection, switched off or out of reach included. */
export function useTools(id: string) {
  const { client } = useApi();
  return useQuery({ queryKey: ["connections", "tools", id], queryFn: () => listAll(client, id) });
}
