import { useMutation, useQueryClient } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { Sent } from "../../api/schemas.ts";
import { asChanged, type ShownConnection } from "./as-changed.ts";

/** Pending changes of connections, which concurrent reads may not include. */
export const UPDATING = ["connections", "update"] as const;

/**
 * Changes a connection. Its page shows the change at once and reverts it if it is rejected. Changes of one connection
 * are sent one after the other, because each lists all disabled tools.
 */
export function useUpdate(id: string) {
  const { client } = useApi();
  const queries = useQueryClient();
  const one = ["connections", "one", id];
  const isLast = () => queries.isMutating({ mutationKey: [...UPDATING, id] }) === 1;
  return useMutation({
    mutationKey: [...UPDATING, id],
    scope: { id: `connection ${id}` },
    mutationFn: (body: Sent<"UpdateConnectionRequest">) =>
      bodyOf(client.PUT("/api/v1/mcp-servers/{server_id}", { params: { path: { server_id: id } }, body })),
    async onMutate(change) {
      await queries.cancelQueries({ queryKey: one });
      const before = queries.getQueryData<ShownConnection>(one);
      if (before !== undefined) queries.setQueryData(one, asChanged(before, change));
      return { before };
    },
    onError(_error, _change, taken) {
      // While a later change is pending, the page shows that one; the connection is reloaded after it.
      if (isLast() && taken?.before !== undefined) queries.setQueryData(one, taken.before);
    },
    async onSettled() {
      if (!isLast()) return;
      await Promise.all([
        queries.invalidateQueries({ queryKey: one }),
        queries.invalidateQueries({ queryKey: ["connections", "list"] }),
      ]);
    },
    // A change may contain a secret, so it is not cached after its form closes.
    gcTime: 0,
  });
}

export function useDelete(id: string) {
  const { client } = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => bodyOf(client.DELETE("/api/v1/mcp-servers/{server_id}", { params: { path: { server_id: id } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["connections", "list"] }),
  });
}
