import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Agent, type Dispatcher } from "undici";

/** Response published at a URL. */
export interface Published {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Test double for every https site that the dispatcher connects to. */
export interface DocumentHost {
  readonly dispatcher: Dispatcher;
  publish(address: string, published: Published): void;
  /** URLs fetched so far, in order. */
  fetched(): readonly string[];
  close(): Promise<void>;
}

/**
 * Starts a local server that replaces the sites of clients. It reads the host name from the request and uses no TLS.
 */
export async function startDocumentHost(): Promise<DocumentHost> {
  const published = new Map<string, Published>();
  const fetched: string[] = [];
  const server = createServer((request, response) => {
    const address = `https://${request.headers.host ?? ""}${request.url ?? ""}`;
    fetched.push(address);
    const { status = 200, headers = {}, body } = published.get(address) ?? { status: 404, body: "" };
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const dispatcher = new Agent({
    connect: (_options, callback) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => callback(null, socket)).once("error", (error) => callback(error, null));
    },
  });
  return {
    dispatcher,
    publish: (address, what) => void published.set(address, what),
    fetched: () => [...fetched],
    async close() {
      await dispatcher.close();
      server.closeAllConnections();
      server.close();
    },
  };
}
