import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A network between the service and PostgreSQL that can lose what open connections send. */
export interface StallingProxy {
  /** The database's address through it. */
  readonly url: string;
  /** From now on open connections swallow everything in both directions and stay open; new ones work. */
  stall(): void;
  close(): Promise<void>;
}

/** Starts one in front of the database. */
export async function startStallingProxy(databaseUrl: string): Promise<StallingProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const forwarding = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const relay = (from: Socket, to: Socket): void => {
      sockets.add(from);
      forwarding.add(from);
      from.on("error", () => undefined);
      from.on("data", (bytes) => {
        if (forwarding.has(from)) to.write(bytes);
      });
      from.on("close", () => {
        sockets.delete(from);
        if (forwarding.delete(from)) to.destroy();
      });
    };
    relay(client, upstream);
    relay(upstream, client);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the proxy has no port");
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String(address.port);
  return {
    url: url.href,
    stall() {
      forwarding.clear();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
