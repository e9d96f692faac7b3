import { useQuery } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";

/** All connections of the account in the detailed view. The watch keeps them current. */
export function useConnections() {
  const { client } = useApi();
  return useQuery({
    queryKey: ["connections", "list"],
    queryFn: async () =>
      (await bodyOf(client.GET("/api/v1/mcp-servers", { params: { query: { view: "detailed" } } }))).data,
  });
}
