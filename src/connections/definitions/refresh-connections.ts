import type { ConnectionStore } from "../connection-store.ts";
import type { ConnectionTools } from "../connection-tools.ts";

/**
 * Lists the tools of the given connections one after the other, so that their owners are notified of pending changes. Logs
 * an error of one connection and continues with the next.
 */
export async function refreshConnections(
  affected: readonly { readonly accountId: string; readonly id: number }[],
  deps: {
    readonly connections: Pick<ConnectionStore, "find">;
    readonly tools: ConnectionTools;
    readonly log: { warn(fields: object, message: string): void };
  },
): Promise<void> {
  for (const { accountId, id } of affected) {
    try {
      const connection = await deps.connections.find(accountId, id);
      if (connection !== undefined) await deps.tools.of(connection);
    } catch (error) {
      deps.log.warn({ err: error, connectionId: id }, "the tool changes of a connection could not be recorded");
    }
  }
}
