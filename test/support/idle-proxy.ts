import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A proxy that closes connections over which nothing was sent to the client for some time. */
export interface IdleProxy {
  readonly url: string;
  /** The number of connections that it closed. */
  cut(): number;
  close(): Promise<void>;
}

export async function startIdleProxy(url: string, idleMs: number): Promise<IdleProxy> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let cut = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", end).on("close", end);
    }
    upstream.setTimeout(idleMs, () => {
      cut += 1;
      end();
    });
    client.pipe(upstream);
    upstream.pipe(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the proxy has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    cut: () => cut,
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}
