import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A proxy between the service and PostgreSQL that can drop the traffic of open connections. */
export interface StallingProxy {
  /** The database's address through the proxy. */
  readonly url: string;
  /** From now on, open connections drop all traffic in both directions and stay open. New ones work. */
  stall(): void;
  close(): Promise<void>;
}

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
