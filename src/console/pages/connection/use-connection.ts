import { useQuery } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { ShownConnection } from "./as-changed.ts";

/** Interval at which a pending connection is reloaded, in case the watch is interrupted. */
const PENDING_AGAIN_MS = 4_000;

/** One connection in both shapes. The watch keeps it current. */
export function useConnection(id: string) {
  const { client } = useApi();
  return useQuery({
    queryKey: ["connections", "one", id],
    refetchInterval: ({ state }) =>
      state.data?.listed.api_key_verification_status === "pending" ? PENDING_AGAIN_MS : false,
    queryFn: async (): Promise<ShownConnection> => {
      const path = { server_id: id };
      const [listed, details] = await Promise.all([
        bodyOf(client.GET("/api/v1/mcp-servers/{server_id}", { params: { path } })),
        bodyOf(client.GET("/api/v1/mcp-servers/{server_id}", { params: { path, query: { view: "detailed" } } })),
      ]);
      if (!("data" in listed) || !("connection" in details)) throw new TypeError("The shapes are not those asked for.");
      return { listed: listed.data, details: details.connection };
    },
  });
}
