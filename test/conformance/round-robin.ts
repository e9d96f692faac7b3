import { once } from "node:events";
import { createServer, request as sendRequest, type IncomingMessage, type ServerResponse } from "node:http";

/** A load balancer that passes requests to the replicas in turn and adds a token, which the suite cannot send. */
export interface RoundRobin {
  readonly port: number;
  close(): void;
}

/** Listens on `localhost`. Keeps the client's Host header. */
export async function startRoundRobin(options: {
  readonly port: number;
  readonly targets: readonly string[];
  readonly token: string;
}): Promise<RoundRobin> {
  let next = 0;
  const pass = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { targets, token } = options;
    const target = new URL(targets[(next += 1) % targets.length] ?? "");
    const headers = incoming.rawHeaders.concat(
      incoming.headers.authorization === undefined ? ["authorization", `Bearer ${token}`] : [],
    );
    const passed = sendRequest(
      {
        host: target.hostname,
        port: target.port,
        method: incoming.method,
        path: incoming.url,
        headers,
        setHost: false,
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        outgoing.flushHeaders();
        answer.on("error", () => outgoing.destroy());
        answer.pipe(outgoing);
      },
    );
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  };
  const server = createServer(pass);
  server.listen(options.port, "localhost");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the round robin has no port");
  return {
    port: address.port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
