import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { Schemas } from "../../api/schemas.ts";

/** The filter of calls. */
export interface ActivityFilter {
  /** The id of a connection; undefined for all. */
  readonly connection: string | undefined;
  readonly tool: string | undefined;
  readonly outcome: Schemas["Call"]["outcome"] | undefined;
  /** The number of days, at most 31. */
  readonly days: number;
}

const DAY_MS = 86_400_000;

/** The start of the period, rounded to a minute so that renders reuse the query. */
function since(days: number): string {
  return new Date(Math.floor((Date.now() - days * DAY_MS) / 60_000) * 60_000).toISOString();
}

/** Counts, error rates and latencies per group. */
export function useUsage(filter: ActivityFilter, groupBy: "day" | "connection" | "connection,tool") {
  const { client } = useApi();
  const { connection, tool, days } = filter;
  return useQuery({
    queryKey: ["usage", groupBy, connection, tool, days],
    queryFn: async () =>
      (
        await bodyOf(
          client.GET("/api/v1/usage", {
            params: { query: { group_by: groupBy, since: since(days), ...ofWhich(connection, tool) } },
          }),
        )
      ).data,
    refetchInterval: 30_000,
  });
}

/** The calls, newest first, by page. */
export function useCalls({ connection, tool, outcome, days }: ActivityFilter) {
  const { client } = useApi();
  return useInfiniteQuery({
    queryKey: ["calls", connection, tool, outcome, days],
    queryFn: ({ pageParam }) =>
      bodyOf(
        client.GET("/api/v1/calls", {
          params: {
            query: {
              limit: 50,
              since: since(days),
              ...ofWhich(connection, tool),
              ...(outcome !== undefined && { outcome }),
              ...(pageParam !== "" && { cursor: pageParam }),
            },
          },
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (last) => last.next_cursor,
  });
}

/** The payloads of one call, if they are stored. */
export function useCallContents({ mcp_server_id, id }: Schemas["Call"]) {
  const { client } = useApi();
  return useQuery({
    queryKey: ["call-contents", id],
    queryFn: async () =>
      (
        await bodyOf(
          client.GET("/api/v1/mcp-servers/{server_id}/calls/{call_id}", {
            params: { path: { server_id: String(mcp_server_id), call_id: id } },
          }),
        )
      ).data,
    // Not cached, because it may contain personal data.
    gcTime: 0,
  });
}

function ofWhich(connection: string | undefined, tool: string | undefined) {
  return { ...(connection !== undefined && { server_id: connection }), ...(tool !== undefined && { tool }) };
}
