import { useQuery } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { Schemas } from "../../api/schemas.ts";

/** When each connection was last used, by id. Loaded in parallel with the list. */
export function useConnectionUsage() {
  const { client } = useApi();
  return useQuery({
    queryKey: ["connection-usage"],
    queryFn: async (): Promise<ReadonlyMap<number, Schemas["ConnectionUsage"]>> => {
      const { data } = await bodyOf(client.GET("/api/v1/usage/connections"));
      return new Map(data.map((each) => [each.mcp_server_id, each]));
    },
    refetchInterval: 30_000,
  });
}
