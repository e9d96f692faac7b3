import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { Schemas } from "../../api/schemas.ts";

/** Which calls are looked at. */
export interface ActivityFilter {
  /** The number of a connection; undefined for all of them. */
  readonly connection: string | undefined;
  readonly tool: string | undefined;
  readonly outcome: Schemas["Call"]["outcome"] | undefined;
  /** How many days back, at most 31. */
  readonly days: number;
}

const DAY_MS = 86_400_000;

/** The beginning of the span, on the minute, so that the same question is not asked anew with every render. */
function since(days: number): string {
  return new Date(Math.floor((Date.now() - days * DAY_MS) / 60_000) * 60_000).toISOString();
}

/** Counts, error rates and latencies in groups. */
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

/** The calls themselves, newest first, page by page. */
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

/** What was said in one call, while that is kept. */
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
    // It may be about people: nothing of it stays once it is closed.
    gcTime: 0,
  });
}

function ofWhich(connection: string | undefined, tool: string | undefined) {
  return { ...(connection !== undefined && { server_id: connection }), ...(tool !== undefined && { tool }) };
}
