import type { Connection } from "../connections/connection.ts";
import type { ConnectionView } from "../connections/connection-view.ts";
import type { Catalog } from "../integrations/integration.ts";
import type { Log } from "./log.ts";

/** Streams to upstreams that tell of changes of their lists: one a connection, however many follow it. */
export interface UpstreamListeners {
  /** Listens to the connection's upstream until everybody who asked for it has released it. `hear` is called after every change of a list. */
  hold(connection: Connection, hear: () => void): () => void;
}

/** What listening needs. */
export interface UpstreamListenersDeps {
  readonly connections: ConnectionView;
  readonly catalog: Catalog;
  readonly log: Log;
}

interface Listening {
  readonly hearers: Set<() => void>;
  stop: () => void;
}

/** Listeners shared by key of the connection: a new key or destination means a new stream. */
export function createUpstreamListeners(deps: UpstreamListenersDeps): UpstreamListeners {
  const byKey = new Map<string, Listening>();

  function listen(connection: Connection): Listening {
    const hearers = new Set<() => void>();
    let isStopped = false;
    const listening: Listening = {
      hearers,
      stop: () => {
        isStopped = true;
      },
    };
    const start = async (): Promise<void> => {
      const target = await deps.connections.target(connection);
      const features = deps.catalog.get(connection.serverType)?.features;
      if (isStopped || features === undefined) return;
      listening.stop = features.watch(target, [], (news) => {
        if (news.kind === "list_changed") for (const hear of [...hearers]) hear();
      });
    };
    start().catch((error: unknown) => {
      deps.log.warn({ err: error, connectionId: connection.id }, "an upstream cannot be listened to");
    });
    return listening;
  }

  return {
    hold(connection, hear) {
      const key = `${connection.id} ${connection.keyVersion}`;
      const listening = byKey.get(key) ?? listen(connection);
      byKey.set(key, listening);
      listening.hearers.add(hear);
      return () => {
        listening.hearers.delete(hear);
        if (listening.hearers.size > 0 || byKey.get(key) !== listening) return;
        byKey.delete(key);
        listening.stop();
      };
    },
  };
}
