import { useMutation } from "@tanstack/react-query";
import { bodyOf, type ApiClient } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { Schemas } from "../../api/schemas.ts";

async function openSession(client: ApiClient): Promise<string> {
  const { sessionId } = await bodyOf(
    client.POST("/mcp/initialize", { body: { clientInfo: { name: "patchbay-console", version: "1" } } }),
  );
  return sessionId;
}

/** Calls a tool of a connection as an agent would, in its own session. */
export function useToolCall(connectionId: string, tool: string) {
  const { client } = useApi();
  return useMutation({
    mutationFn: async (input: Readonly<Record<string, unknown>>): Promise<Schemas["CallToolResult"]> => {
      const session = await openSession(client);
      return bodyOf(
        client.POST("/mcp/tools/call", {
          params: { header: { "X-Session-ID": session } },
          body: { name: `${tool}__${connectionId}`, arguments: { ...input } },
        }),
      );
    },
    gcTime: 0,
  });
}
