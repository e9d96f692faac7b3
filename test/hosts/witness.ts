import { type IncomingMessage, request as sendRequest, type ServerResponse } from "node:http";
import { isJsonObject, type JsonObject, parseJson } from "../../src/json.ts";
import { bodyOf, listen, type Listening } from "./listen.ts";

/** A proxy before an upstream that observes the calls that wait to be canceled. */
export interface Witness extends Listening {
  /** Resolves when another such call has arrived. */
  started(): Promise<void>;
  /** Resolves when another such call has been canceled: by a notification, or because its connection was closed. */
  canceled(): Promise<void>;
}

/** `isWaiting` tells whether a request is such a call, from its path and its JSON-RPC message. */
export async function startWitness(
  target: string,
  isWaiting: (path: string, message: JsonObject) => boolean,
): Promise<Witness> {
  const started = createEvents();
  const canceled = createEvents();
  const running = new Map<string, () => void>();

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await bodyOf(incoming);
    const message = messageIn(body);
    observe(incoming, message, outgoing);
    const { hostname, port } = new URL(`http://${target}`);
    const passed = sendRequest(
      { hostname, port, method: incoming.method, path: incoming.url, headers: incoming.rawHeaders, setHost: false },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        outgoing.flushHeaders();
        answer.pipe(outgoing);
      },
    );
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    passed.end(body);
  }

  function observe({ url = "/", headers }: IncomingMessage, message: JsonObject, outgoing: ServerResponse): void {
    const { id, method, params } = message;
    const session = String(headers["mcp-session-id"]);
    if (method === "notifications/cancelled" && isJsonObject(params))
      running.get(`${session} ${JSON.stringify(params["requestId"])}`)?.();
    if (!isWaiting(url, message)) return;
    const key = `${session} ${JSON.stringify(id)}`;
    const cancel = (): void => {
      if (running.delete(key)) canceled.add();
    };
    running.set(key, cancel);
    outgoing.on("close", () => {
      if (outgoing.writableFinished) running.delete(key);
      else cancel();
    });
    started.add();
  }

  return { ...(await listen(pass)), started: started.next, canceled: canceled.next };
}

/** Events that are each received once, also by someone who waits later. */
function createEvents(): { add(): void; next(): Promise<void> } {
  const waiting: (() => void)[] = [];
  let unseen = 0;
  return {
    add: () => {
      const wake = waiting.shift();
      if (wake === undefined) unseen += 1;
      else wake();
    },
    next: () => {
      if (unseen === 0) return new Promise((resolve) => waiting.push(resolve));
      unseen -= 1;
      return Promise.resolve();
    },
  };
}

function messageIn(body: Buffer): JsonObject {
  const message = body.length === 0 ? {} : parseJson(body.toString(), { maxDepth: 64 });
  return isJsonObject(message) ? message : {};
}
