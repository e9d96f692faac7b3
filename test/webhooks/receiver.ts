import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";
import { isJsonObject, type JsonObject } from "../../src/json.ts";

/** A request that a receiver got. */
export interface Received {
  readonly id: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A receiver of webhooks that a test controls. */
export interface Receiver {
  /** `host:port`, for OUTBOUND_ALLOW. */
  readonly host: string;
  readonly url: string;
  readonly received: Received[];
  /** Answers each request. Default: 204. */
  answer: (response: ServerResponse, request: Received) => void;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      const parsed: unknown = JSON.parse(body);
      if (!isJsonObject(parsed) || !isJsonObject(parsed["data"])) throw new Error(`not an event: ${body}`);
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const one: Received = {
        id: headers["webhook-id"] ?? "",
        type: String(parsed["type"]),
        data: parsed["data"],
        path: request.url ?? "",
        headers,
        body,
      };
      receiver.received.push(one);
      receiver.answer(response, one);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the receiver has no port");
  const host = `127.0.0.1:${address.port}`;
  const receiver: Receiver = {
    host,
    url: `http://${host}/hooks`,
    received: [],
    answer: (response) => response.writeHead(204).end(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return receiver;
}

/** Whether the library of Standard Webhooks accepts a request with this secret. */
export function isSignedWith(secret: string, { body, headers }: Received): boolean {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}
